package authn

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/apis/apiserver/validation"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	authenticationcel "k8s.io/apiserver/pkg/authentication/cel"
	tokencache "k8s.io/apiserver/pkg/authentication/token/cache"
	tokenunion "k8s.io/apiserver/pkg/authentication/token/union"
	"k8s.io/apiserver/plugin/pkg/authenticator/token/oidc"
	"k8s.io/client-go/util/cert"

	"minikcm.dev/minikcm/apiserver/internal/gate"
	"minikcm.dev/minikcm/apiserver/internal/outbound"
)

const (
	// maxIssuerBytes limits each answer of an issuer: its configuration, its keys, and
	// distributed claims.
	maxIssuerBytes = 1 << 20
	// verifiedTTL is for how long a verified token is not verified again, as upstream.
	verifiedTTL = 10 * time.Second
)

// issuers authenticate the JSON web tokens of one configuration.
type issuers struct {
	tokens authenticator.Token
	// checks return an error until an issuer's keys are known.
	checks []func() error
	// inside counts the tokens that are being verified.
	inside gate.Gate
	// closers end the background work of the issuers.
	closers []func()
}

// newIssuers returns the authenticators of a configuration's issuers, which are contacted in
// the background. The lifetime of their tokens is on the machine's clock, because other
// programs issue them.
func (a *Authenticators) newIssuers(config *apiserver.AuthenticationConfiguration, algorithms []string) (*issuers, error) {
	compiler := authenticationcel.NewDefaultCompiler()
	if err := validation.ValidateAuthenticationConfiguration(compiler, config, a.deps.Audiences).ToAggregate(); err != nil {
		return nil, fmt.Errorf("invalid authentication configuration: %w", err)
	}
	made := &issuers{}
	ctx, cancel := context.WithCancel(context.Background())
	made.closers = append(made.closers, cancel)
	var all []authenticator.Token
	for i := range config.JWT {
		one, err := made.add(ctx, a, oidc.Options{
			JWTAuthenticator: config.JWT[i], Compiler: compiler, SupportedSigningAlgs: algorithms, DisallowedIssuers: a.deps.Audiences,
		})
		if err != nil {
			made.close()
			return nil, fmt.Errorf("issuer %s: %w", config.JWT[i].Issuer.URL, err)
		}
		all = append(all, one)
	}
	// The cache is outermost: it returns the same answer again, in which the audiences must
	// not be set twice.
	known := authenticator.WrapAudienceAgnosticToken(a.deps.Audiences, tokenunion.NewFailOnError(all...))
	made.tokens = tokencache.New(known, false, verifiedTTL, 0)
	return made, nil
}

// add makes the authenticator of one issuer.
func (s *issuers) add(ctx context.Context, a *Authenticators, opts oidc.Options) (authenticator.Token, error) {
	issuer := &opts.JWTAuthenticator.Issuer
	if issuer.EgressSelectorType != "" {
		return nil, fmt.Errorf("there are no egress selectors: remove egressSelectorType %q", issuer.EgressSelectorType)
	}
	var err error
	if opts.Client, err = s.clientOf(issuer); err != nil {
		return nil, err
	}
	one, err := oidc.New(ctx, opts)
	if err != nil {
		return nil, err
	}
	s.checks = append(s.checks, one.HealthCheck)
	return one, nil
}

// close waits for the tokens that are being verified, and ends the background work of the issuers.
func (s *issuers) close() {
	s.inside.Shut()
	s.inside.Wait()
	for _, release := range s.closers {
		release()
	}
}

// clientOf returns the client for an issuer, with limits on its answers. Redirects are not
// followed.
func (s *issuers) clientOf(issuer *apiserver.Issuer) (*http.Client, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if issuer.CertificateAuthority != "" {
		var err error
		if config.RootCAs, err = cert.NewPoolFromBytes([]byte(issuer.CertificateAuthority)); err != nil {
			return nil, fmt.Errorf("reading the certificate authority: %w", err)
		}
	}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: config, ForceAttemptHTTP2: true, IdleConnTimeout: outbound.Timeout}
	calls := &closing{next: outbound.Limit(transport, maxIssuerBytes, "issuer")}
	s.closers = append(s.closers, func() {
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
