package auth

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/asn1"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"

	"minikcm.dev/minikcm/clock"
)

// ClientCertificates maps the certificates of connections to users.
type ClientCertificates struct {
	roots *x509.CertPool
	// machine is the clock that certificates are checked against: real time.
	machine clock.Clock
	// known caches the users of certificates, so that each certificate is verified once
	// per connection.
	known recent[*x509.Certificate, *User]
}

// NewClientCertificates returns a ClientCertificates that trusts an authority, and others.
func NewClientCertificates(authority *Authority, others ...*x509.Certificate) *ClientCertificates {
	roots := poolOf(others)
	roots.AddCert(authority.Certificate)
	return &ClientCertificates{roots: roots, machine: clock.Real()}
}

// Pool returns the trusted authorities.
func (c *ClientCertificates) Pool() *x509.CertPool { return c.roots }

// User returns the user of a connection's certificate: nil if there is none, or one
// without a name. The error says why a certificate is rejected.
func (c *ClientCertificates) User(state *tls.ConnectionState) (*User, error) {
	if state == nil || len(state.PeerCertificates) == 0 {
		return nil, nil
	}
	certificate, now := state.PeerCertificates[0], c.machine.Now()
	if user, ok := c.known.get(certificate); ok && now.Before(certificate.NotAfter) {
		return user, nil
	}
	if err := verifyPeer(state.PeerCertificates, c.roots, now); err != nil {
		return nil, err
	}
	user, err := fromCertificate(certificate)
	if err != nil {
		return nil, err
	}
	c.known.put(certificate, user)
	return user, nil
}

// verifyPeer verifies the first certificate of a client, with the others as intermediates.
func verifyPeer(certificates []*x509.Certificate, roots *x509.CertPool, now time.Time) error {
	options := x509.VerifyOptions{Roots: roots, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	if len(certificates) > 1 {
		options.Intermediates = poolOf(certificates[1:])
	}
	if _, err := certificates[0].Verify(options); err != nil {
		return fmt.Errorf("verifying the client certificate of %q: %w", certificates[0].Subject.CommonName, err)
	}
	return nil
}

func poolOf(certificates []*x509.Certificate) *x509.CertPool {
	pool := x509.NewCertPool()
	for _, certificate := range certificates {
		pool.AddCert(certificate)
	}
	return pool
}

// uidType is the attribute type of a user's UID in a subject, as upstream.
func uidType() asn1.ObjectIdentifier { return asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57683, 2} }

// fromCertificate returns the user of a verified client certificate: the common name is
// the user, the organisations are the groups (Kubernetes documentation,
// "Authenticating: X509 client certificates").
func fromCertificate(certificate *x509.Certificate) (*User, error) {
	if certificate.Subject.CommonName == "" {
		return nil, nil
	}
	sum := sha256.Sum256(certificate.Raw)
	u := &User{
		Name: certificate.Subject.CommonName, Groups: append(slices.Clone(certificate.Subject.Organization), GroupAuthenticated),
		Extra: map[string][]string{user.CredentialIDKey: {"X509SHA256=" + hex.EncodeToString(sum[:])}},
	}
	for _, name := range certificate.Subject.Names {
		if !name.Type.Equal(uidType()) {
			continue
		}
		uid, ok := name.Value.(string)
		if !ok || uid == "" || u.UID != "" {
			return nil, fmt.Errorf("the client certificate of %q has no single UID that is a string", u.Name)
		}
		u.UID = uid
	}
	return u, nil
}

type certificatesKey struct{}

// WithClientCertificates returns a context with which the certificates of connections
// are checked.
func WithClientCertificates(ctx context.Context, c *ClientCertificates) context.Context {
	return context.WithValue(ctx, certificatesKey{}, c)
}

// ClientCertificatesFrom returns the value that WithClientCertificates set, or nil.
func ClientCertificatesFrom(ctx context.Context) *ClientCertificates {
	c, _ := ctx.Value(certificatesKey{}).(*ClientCertificates)
	return c
}
