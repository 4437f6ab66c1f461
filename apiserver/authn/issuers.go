package authn

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	authenticationcel "k8s.io/apiserver/pkg/authentication/cel"
	tokencache "k8s.io/apiserver/pkg/authentication/token/cache"
	tokenunion "k8s.io/apiserver/pkg/authentication/token/union"
	"k8s.io/apiserver/plugin/pkg/authenticator/token/oidc"
	"k8s.io/client-go/util/cert"

	"minikcm.dev/minikcm/apiserver/gate"
	"minikcm.dev/minikcm/apiserver/outbound"
)

const (
	// maxIssuerBytes limits each answer of an issuer: its configuration, its keys, and
	// distributed claims.
	maxIssuerBytes = 1 << 20
	// verifiedTTL is for how long a verified token is not verified again, as upstream.
	verifiedTTL = 10 * time.Second
)

// useIssuers adds the authenticators of JSON web tokens. The lifetime of their tokens is
// on the machine's clock, because other programs issue them.
func (a *Authenticators) useIssuers(issuers []apiserver.JWTAuthenticator, algorithms []string, compiler authenticationcel.Compiler) error {
	if len(issuers) == 0 {
		return nil
	}
	// Issuers are contacted in the background, until the authenticators are closed.
	ctx, cancel := context.WithCancel(context.Background())
	a.closers = append(a.closers, cancel)
	var all []authenticator.Token
	for _, issuer := range issuers {
		if issuer.Issuer.EgressSelectorType != "" {
			return fmt.Errorf("issuer %s: there are no egress selectors: remove egressSelectorType %q", issuer.Issuer.URL, issuer.Issuer.EgressSelectorType)
		}
		client, err := a.clientOf(&issuer.Issuer)
		if err != nil {
			return fmt.Errorf("issuer %s: %w", issuer.Issuer.URL, err)
		}
		one, err := oidc.New(ctx, oidc.Options{
			JWTAuthenticator: issuer, Client: client, Compiler: compiler,
			SupportedSigningAlgs: algorithms, DisallowedIssuers: a.deps.Audiences,
		})
		if err != nil {
			return fmt.Errorf("issuer %s: %w", issuer.Issuer.URL, err)
		}
		all = append(all, one)
	}
	// The cache is outermost: it returns the same answer again, in which the audiences must
	// not be set twice.
	known := authenticator.WrapAudienceAgnosticToken(a.deps.Audiences, tokenunion.NewFailOnError(all...))
	a.after = append(a.after, tokencache.New(known, false, verifiedTTL, 0))
	return nil
}

// clientOf returns the client for an issuer, with limits on its answers. Redirects are not
// followed.
func (a *Authenticators) clientOf(issuer *apiserver.Issuer) (*http.Client, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if issuer.CertificateAuthority != "" {
		var err error
		if config.RootCAs, err = cert.NewPoolFromBytes([]byte(issuer.CertificateAuthority)); err != nil {
			return nil, fmt.Errorf("reading the certificate authority: %w", err)
		}
	}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: config, ForceAttemptHTTP2: true, IdleConnTimeout: outbound.Timeout}
	calls := &closing{next: outbound.Limit(transport, maxIssuerBytes, "issuer")}
	a.closers = append(a.closers, func() {
		calls.inside.Shut()
		calls.inside.Wait()
		transport.CloseIdleConnections()
	})
	return &http.Client{Transport: calls, Timeout: outbound.Timeout}, nil
}

// closing is a transport that can be shut, so that the last call of a client that works in
// the background can be waited for.
type closing struct {
	next   http.RoundTripper
	inside gate.Gate
}

var errClosing = errors.New("the API server is shutting down")

// RoundTrip implements http.RoundTripper.
func (c *closing) RoundTrip(rq *http.Request) (*http.Response, error) {
	if !c.inside.Enter() {
		return nil, errClosing
	}
	defer c.inside.Leave()
	return c.next.RoundTrip(rq)
}
