package secure

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"time"
)

// Port is a TCP port of a simulated pod on which something listens.
type Port struct {
	// Handler answers requests, which have the TLS state of their connection.
	Handler http.Handler
	// Known means that the pod declares the answers.
	Known bool
	// Certificate returns the certificate that the port presents; nil: it speaks no TLS.
	Certificate Source
	// Way returns when a request of the API server has come to the port, or why it does not: faults of the network delay, lose and reset
	// it. Time passes only if mayWait is set. Nil: it comes at once.
	Way func(ctx context.Context, r *http.Request, mayWait bool) error
}

// Arrive calls Way, if there is one.
func (p *Port) Arrive(ctx context.Context, r *http.Request, mayWait bool) error {
	if p.Way == nil {
		return nil
	}
	return p.Way(ctx, r, mayWait)
}

// Source returns the present certificate of a server, or one of the errors below.
type Source func(ctx context.Context) (*tls.Certificate, error)

// ErrNoCertificate means that a server has no usable certificate. Its clients get the alert internal_error.
var ErrNoCertificate = errors.New("tls: the server has no certificate")

// Server returns the server's end of a connection: as it is, or with TLS.
func (p *Port) Server(conn net.Conn) net.Conn { return Server(conn, p.Certificate) }

// ErrUnknown means that the content of a server's files is unknown. Simulated clients are assumed to trust it.
var ErrUnknown = errors.New("tls: the server's certificate is unknown")

// Server returns the server's end of a connection: as it is if source is nil, or with TLS.
func Server(conn net.Conn, source Source) net.Conn {
	if source == nil {
		return conn
	}
	return tls.Server(conn, &tls.Config{
		NextProtos:     NextProtos(),
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) { return source(hello.Context()) },
	})
}

// NextProtos are the protocols that servers offer to clients over TLS (ALPN).
func NextProtos() []string { return []string{"h2", "http/1.1"} }

// Speak lets a server of net/http speak HTTP/1.1 and HTTP/2, over TLS as its clients choose, and without TLS with clients that know it.
func Speak(s *http.Server) {
	s.Protocols = &http.Protocols{}
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetHTTP2(true)
	s.Protocols.SetUnencryptedHTTP2(true)
	s.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: maxStreams}
}

// maxStreams caps the requests of a connection at a time.
const maxStreams = 100

// ErrPlain is the error of net/http if a server answers a handshake without TLS.
var ErrPlain = errors.New("http: server gave HTTP response to HTTPS client")

// errAlert is the error of crypto/tls for a server without a certificate.
var errAlert = errors.New("remote error: tls: internal error")

// Shake returns the error of a client's handshake with the port; nil: it ends, if the client verifies no certificate. A port of which
// nothing is known is assumed to serve TLS, too.
func (p *Port) Shake(ctx context.Context) error {
	switch {
	case p.Certificate != nil:
		if _, err := p.Certificate(ctx); err != nil && !errors.Is(err, ErrUnknown) {
			return errAlert
		}
	case p.Known:
		return ErrPlain
	}
	return nil
}

// State is the state of a connection that a simulated client has made, with the name that it asked for.
func State(name string) *tls.ConnectionState {
	return &tls.ConnectionState{Version: tls.VersionTLS13, HandshakeComplete: true, ServerName: name}
}

// Refuse answers a request without TLS on a port that serves TLS, as net/http does. It returns false for any other request.
func Refuse(w http.ResponseWriter, r *http.Request) bool {
	if r.TLS != nil {
		return false
	}
	http.Error(w, "Client sent an HTTP request to an HTTPS server.", http.StatusBadRequest)
	return true
}

// Chain returns the error of crypto/x509 if a server's certificate is not signed by the roots, or not valid at a time.
func Chain(cert *tls.Certificate, roots *x509.CertPool, now time.Time) (leaf *x509.Certificate, err error) {
	leaf, others, err := parse(cert)
	if err != nil {
		return nil, err
	}
	intermediates := x509.NewCertPool()
	for _, other := range others {
		intermediates.AddCert(other)
	}
	_, err = leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: intermediates, CurrentTime: now})
	return leaf, err
}

// Verify returns the error of crypto/tls with which a client that trusts the roots refuses a server's certificate.
func Verify(cert *tls.Certificate, roots *x509.CertPool, name string, now time.Time) error {
	leaf, err := Chain(cert, roots, now)
	if err == nil {
		err = leaf.VerifyHostname(name)
	}
	if err == nil {
		return nil
	}
	failure := &tls.CertificateVerificationError{Err: err}
	if leaf != nil {
		failure.UnverifiedCertificates = []*x509.Certificate{leaf}
	}
	return failure
}

func parse(cert *tls.Certificate) (leaf *x509.Certificate, others []*x509.Certificate, err error) {
	for i, der := range cert.Certificate {
		parsed, err := x509.ParseCertificate(der)
		if err != nil {
			return nil, nil, err
		}
		if i == 0 {
			leaf = parsed
		} else {
			others = append(others, parsed)
		}
	}
	if leaf == nil {
		return nil, nil, ErrNoCertificate
	}
	return leaf, others, nil
}
