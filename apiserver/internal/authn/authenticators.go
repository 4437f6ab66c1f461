package authn

import (
	"context"
	"crypto/x509"
	"errors"
	"net/http"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/auth"
)

// Dependencies holds the parts of the server that authenticators use.
type Dependencies struct {
	// Clock is the cluster's clock, on which bootstrap tokens expire.
	Clock clock.Clock
	// Secret looks up a Secret. An error means that it does not exist.
	Secret func(ctx context.Context, namespace, name string) (*corev1.Secret, error)
	// Audiences are the API server's audiences.
	Audiences []string
	// RefuseAnonymous refuses requests without credentials, unless the AuthenticationConfiguration
	// has a rule for them.
	RefuseAnonymous bool
	Logger          klog.Logger
}

// Authenticators authenticate users as the options say. A nil *Authenticators behaves as one that
// is made from the zero Options without RefuseAnonymous.
type Authenticators struct {
	deps    Dependencies
	clients authorities
	proxy   *auth.FrontProxy
	trusted proxyTrust
	// before are the authenticators that try a token before the service accounts' own
	// authenticator, and after the ones that try it afterwards, in upstream's order.
	before, after []authenticator.Token
	anonymous     anonymousRule
	// issuers is one of after; nil: there is no configuration of issuers.
	issuers *currentIssuers
	file    configurationFile
	// closers release the resources that the authenticators hold.
	closers []func()
}

// New returns the authenticators of the options. Close them.
func New(opts Options, deps Dependencies) (*Authenticators, error) {
	if reflect.ValueOf(opts).IsZero() && !deps.RefuseAnonymous {
		return nil, nil
	}
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	a := &Authenticators{deps: deps}
	for _, use := range []func(*Options) error{a.useCertificates, a.useFrontProxy, a.useTokenFile, a.useBootstrapTokens, a.useConfiguration, a.useWebhook} {
		if err := use(&opts); err != nil {
			a.Close()
			return nil, err
		}
	}
	return a, nil
}

// Close ends the background work of the authenticators.
func (a *Authenticators) Close() {
	if a == nil {
		return
	}
	for _, release := range a.closers {
		release()
	}
}

// Proxied returns the user that a front proxy's request names, or nil. The error says why
// the sender is not the front proxy.
func (a *Authenticators) Proxied(r *http.Request) (*auth.User, error) {
	if a == nil || a.proxy == nil {
		return nil, nil
	}
	return a.proxy.User(r)
}

// Strip removes the headers in which a front proxy names users.
func (a *Authenticators) Strip(header http.Header) {
	if a != nil && a.proxy != nil {
		a.proxy.Strip(header)
	}
}

// Verify returns the user of a bearer token, which must have one of audiences; empty means the API
// server's audiences. accounts verifies the tokens of service accounts. If no authenticator knows
// the token, the error is auth.ErrNotAToken, otherwise their errors.
func (a *Authenticators) Verify(ctx context.Context, token string, audiences []string, accounts func(ctx context.Context, token string, audiences []string) (*auth.Verified, error)) (*auth.Verified, error) {
	if a == nil {
		return accounts(ctx, token, audiences)
	}
	wanted := audiences
	if len(wanted) == 0 {
		wanted = a.deps.Audiences
	}
	limited := authenticator.WithAudiences(ctx, wanted)
	verified, errs := ask(limited, a.before, token, nil)
	if verified != nil {
		return verified, nil
	}
	account, err := accounts(ctx, token, audiences)
	if err == nil {
		return account, nil
	}
	if !errors.Is(err, auth.ErrNotAToken) {
		errs = append(errs, err)
	}
	if verified, errs = ask(limited, a.after, token, errs); verified != nil {
		return verified, nil
	}
	if len(errs) == 0 {
		return nil, auth.ErrNotAToken
	}
	return account, utilerrors.NewAggregate(errs)
}

// ask asks authenticators in turn until one knows the token, and adds their errors to errs.
func ask(ctx context.Context, authenticators []authenticator.Token, token string, errs []error) (*auth.Verified, []error) {
	for _, one := range authenticators {
		answer, ok, err := one.AuthenticateToken(ctx, token)
		if err != nil {
			errs = append(errs, err)
		}
		if ok && err == nil {
			return &auth.Verified{User: auth.FromInfo(answer.User), Audiences: answer.Audiences}, nil
		}
	}
	return nil, errs
}

// knows adds an authenticator whose tokens are for the API server alone.
func (a *Authenticators) knows(list *[]authenticator.Token, one authenticator.Token) {
	*list = append(*list, authenticator.WrapAudienceAgnosticToken(a.deps.Audiences, one))
}

// ClientAuthorities returns the further authorities of client certificates.
func (a *Authenticators) ClientAuthorities() []*x509.Certificate {
	if a == nil {
		return nil
	}
	return a.clients.certificates
}

// ProxyAuthorities returns the authorities of the front proxy's certificate.
func (a *Authenticators) ProxyAuthorities() []*x509.Certificate {
	if a == nil {
		return nil
	}
	return a.trusted.authorities.certificates
}
