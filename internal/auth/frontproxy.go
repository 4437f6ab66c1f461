package auth

import (
	"crypto/x509"
	"fmt"
	"net/http"
	"slices"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"

	"minikcm.dev/minikcm/clock"
)

// FrontProxyOptions describe a proxy that authenticates users and names them in headers.
type FrontProxyOptions struct {
	// Authorities sign the proxy's client certificate.
	Authorities []*x509.Certificate
	// Names are the common names that the certificate may have; empty: any.
	Names []string
	// The headers with the user's name, UID and groups; of the first two, the first header
	// with a value counts. ExtraPrefixes are the prefixes of the headers with extra fields.
	UserHeaders, UIDHeaders, GroupHeaders, ExtraPrefixes []string
}

// FrontProxy authenticates the requests of a front proxy (Kubernetes documentation,
// "Authenticating Proxy").
type FrontProxy struct {
	opts    FrontProxyOptions
	roots   *x509.CertPool
	headers authenticator.Request
	// machine is the clock that certificates are checked against: real time.
	machine clock.Clock
	// verified caches the results for certificates within their validity, so that each is
	// verified once per connection.
	verified recent[*x509.Certificate, error]
}

// NewFrontProxy returns a FrontProxy. The error says which header has no name.
func NewFrontProxy(opts FrontProxyOptions) (*FrontProxy, error) {
	headers, err := headerrequest.New(opts.UserHeaders, opts.UIDHeaders, opts.GroupHeaders, opts.ExtraPrefixes)
	if err != nil {
		return nil, err
	}
	return &FrontProxy{opts: opts, roots: poolOf(opts.Authorities), headers: headers, machine: clock.Real()}, nil
}

// User returns the user that the headers of a proxy's request name: nil if they name none,
// or if the connection has no certificate. The error says why the certificate is not the proxy's.
func (p *FrontProxy) User(r *http.Request) (*User, error) {
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 || !slices.ContainsFunc(p.opts.UserHeaders, func(name string) bool { return r.Header.Get(name) != "" }) {
		return nil, nil
	}
	if err := p.verify(r.TLS.PeerCertificates); err != nil {
		return nil, err
	}
	answer, ok, err := p.headers.AuthenticateRequest(r)
	if err != nil || !ok {
		return nil, err
	}
	return FromInfo(answer.User), nil
}

func (p *FrontProxy) verify(certificates []*x509.Certificate) error {
	certificate, now := certificates[0], p.machine.Now()
	valid := now.After(certificate.NotBefore) && now.Before(certificate.NotAfter)
	if err, ok := p.verified.get(certificate); ok && valid {
		return err
	}
	err := verifyPeer(certificates, p.roots, now)
	if name := certificate.Subject.CommonName; err == nil && len(p.opts.Names) > 0 && !slices.Contains(p.opts.Names, name) {
		err = fmt.Errorf("x509: subject with cn=%s is not in the allowed list", name)
	}
	if valid {
		p.verified.put(certificate, err)
	}
	return err
}

// Strip removes the headers in which the proxy names users.
func (p *FrontProxy) Strip(header http.Header) {
	headerrequest.ClearAuthenticationHeaders(header,
		headerrequest.StaticStringSlice(p.opts.UserHeaders), headerrequest.StaticStringSlice(p.opts.UIDHeaders),
		headerrequest.StaticStringSlice(p.opts.GroupHeaders), headerrequest.StaticStringSlice(p.opts.ExtraPrefixes))
}
