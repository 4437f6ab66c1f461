package box

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"time"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/network/secure"
	"minikcm.dev/minikcm/kubeletsim/internal/unknown"
)

// handshake returns the error of a TLS handshake over a connection. What a server presents of which nothing is known is not checked.
func (p *proc) handshake(ctx context.Context, c *dialed) error {
	cert, err := p.machine.Network.Certificate(ctx, c.Path, c.host)
	if errors.Is(err, secure.ErrUnknown) {
		return nil
	}
	if err != nil || cert == nil || c.verify == nil {
		return err
	}
	return c.verify(cert)
}

// untrusted is the error of a certificate that a program does not trust, in the words of curl.
type untrusted struct{ why string }

func (e *untrusted) Error() string { return e.why }

// result returns OpenSSL's number for what is wrong with a chain; 0: the chain is good, or the number is not known.
func (e *untrusted) result() int {
	return map[string]int{
		notYetValid: 9, hasExpired: 10, selfSigned: 18, selfSignedInChain: 19, noIssuer: 20, noAuthority: 24, badPurpose: 26,
	}[strings.TrimPrefix(e.why, certificateProblem)]
}

// certificateProblem begins the messages about a chain, which end with one of the words below it.
const certificateProblem = "SSL certificate problem: "

// OpenSSL's words for what is wrong with a chain.
const (
	notYetValid       = "certificate is not yet valid"
	hasExpired        = "certificate has expired"
	selfSigned        = "self-signed certificate"
	selfSignedInChain = "self-signed certificate in certificate chain"
	noIssuer          = "unable to get local issuer certificate"
	noAuthority       = "invalid CA certificate"
	badPurpose        = "unsuitable certificate purpose"
)

// verifier returns the function that verifies a server's certificate for a host as OpenSSL does for curl. The certificates of the API
// server are valid in the machine's time, since programs of the machine check them, too.
func (p *proc) verifier(roots *x509.CertPool, host string, d *dialed) func(*tls.Certificate) error {
	return func(cert *tls.Certificate) error {
		now := p.machine.Clock.Now()
		if d.APIServer {
			now = clock.Real().Now()
		}
		leaf, err := secure.Chain(cert, roots, now)
		if err != nil {
			return &untrusted{certificateProblem + problem(cert, leaf, err, now)}
		}
		bare := len(leaf.DNSNames)+len(leaf.IPAddresses) == 0 && strings.EqualFold(leaf.Subject.CommonName, host)
		if !bare && leaf.VerifyHostname(host) != nil {
			return &untrusted{fmt.Sprintf("SSL: no alternative certificate subject name matches target host name '%s'", host)}
		}
		return nil
	}
}

// problem returns OpenSSL's words for an error of a certificate.
func problem(cert *tls.Certificate, leaf *x509.Certificate, err error, now time.Time) string {
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		if invalid.Cert != nil && now.Before(invalid.Cert.NotBefore) {
			return notYetValid
		}
		return hasExpired
	case errors.As(err, &invalid) && invalid.Reason == x509.IncompatibleUsage:
		return badPurpose
	case errors.As(err, &invalid) && invalid.Reason == x509.NotAuthorizedToSign:
		return noAuthority
	case leaf != nil && leaf.Issuer.String() == leaf.Subject.String():
		return selfSigned
	}
	if last, parseErr := x509.ParseCertificate(cert.Certificate[len(cert.Certificate)-1]); parseErr == nil && last.Issuer.String() == last.Subject.String() {
		return selfSignedInChain
	}
	return noIssuer
}

// certificateFile has the certificates of the authorities that the programs of an image trust.
const certificateFile = "/etc/ssl/certs/ca-certificates.crt"

// errNoRoots means that a file has no certificates.
var errNoRoots = errors.New("the file has no certificates")

// roots reads the authorities that curl trusts: in the file that is given, by an option or in the environment, or in the image's bundle.
// The pool is nil if the file's content is unknown: any certificate is assumed to be trusted then.
func (p *proc) roots(ctx context.Context, given string) (pool *x509.CertPool, file string, err error) {
	file = cmp.Or(given, p.env["CURL_CA_BUNDLE"], p.env["SSL_CERT_FILE"])
	pool = x509.NewCertPool()
	if file == "" {
		if data, err := p.machine.Files.ReadFile(certificateFile); err == nil {
			pool.AppendCertsFromPEM(data)
		}
		return pool, certificateFile, nil
	}
	data, err := p.readFile(ctx, file)
	switch {
	case err == nil && bytes.Contains(data, []byte(unknown.Line)):
		return nil, file, nil
	case err != nil || !pool.AppendCertsFromPEM(data):
		return nil, file, errNoRoots
	}
	return pool, file, nil
}
