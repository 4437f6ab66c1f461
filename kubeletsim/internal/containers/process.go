package containers

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/network/reach"
	"minikcm.dev/minikcm/internal/network/secure"
	"minikcm.dev/minikcm/internal/relay"
)

// processTime bounds a connection of a simulated program to a process of the machine, in the machine's time. Virtual time stands still meanwhile.
const processTime = 30 * time.Second

// processOf returns the address of the process of the machine at the end of a path; empty: it is a simulated program.
func processOf(path *reach.Path) string {
	if path.Listener == nil {
		return ""
	}
	return path.Listener.Process
}

// try makes the outcome of a path to a process the one of a connection to it.
func try(ctx context.Context, path *reach.Path) {
	address := processOf(path)
	if address == "" || path.Outcome != reach.Connected {
		return
	}
	conn, err := relay.Dial(ctx, address)
	if err == nil {
		_ = conn.Close() // it was opened
		return
	}
	path.Outcome, path.Why = reach.Refused, err.Error()
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		path.Outcome = reach.TimedOut
	}
}

// ServeProcess answers a request with the process of the machine at the end of a path.
func (rt *Runtime) ServeProcess(path *reach.Path, w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), processTime)
	defer cancel()
	transport := &http.Transport{
		DialContext:       func(ctx context.Context, _, address string) (net.Conn, error) { return relay.Dial(ctx, address) },
		DisableKeepAlives: true, TLSHandshakeTimeout: processTime,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // the client has verified the certificate, or does not
	}
	to := &url.URL{Scheme: "http", Host: path.Listener.Process}
	if r.TLS != nil {
		to.Scheme, transport.TLSClientConfig.ServerName = "https", r.TLS.ServerName
	}
	relay.HTTP(to, transport, func(w http.ResponseWriter, _ *http.Request, err error) {
		if a, ok := w.(aborter); ok {
			a.Abort(errors.Is(err, syscall.ECONNRESET))
			return
		}
		http.Error(w, err.Error(), http.StatusBadGateway)
	}).ServeHTTP(w, r.WithContext(ctx))
}

// presented returns the certificate that the process at an address presents for a name.
func presented(ctx context.Context, address, name string) (*tls.Certificate, error) {
	ctx, cancel := context.WithTimeout(ctx, processTime)
	defer cancel()
	conn, err := relay.Dial(ctx, address)
	if err != nil {
		return nil, err
	}
	client := tls.Client(conn, &tls.Config{ServerName: name, InsecureSkipVerify: true}) // the caller verifies it
	defer client.Close()
	if err := client.HandshakeContext(ctx); err != nil {
		var plain tls.RecordHeaderError
		if errors.As(err, &plain) {
			return nil, secure.ErrPlain
		}
		return nil, secure.ErrNoCertificate
	}
	cert := &tls.Certificate{}
	for _, one := range client.ConnectionState().PeerCertificates {
		cert.Certificate = append(cert.Certificate, one.Raw)
	}
	return cert, nil
}

// ExchangeProcess sends data to the process of the machine at the end of a path, and returns what it answers.
func (rt *Runtime) ExchangeProcess(ctx context.Context, path *reach.Path, data []byte) ([]byte, error) {
	conn, err := relay.Dial(ctx, path.Listener.Process)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	_ = conn.SetDeadline(clock.Real().Now().Add(processTime))
	if _, err := conn.Write(data); err != nil {
		return nil, err
	}
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	answer, err := io.ReadAll(io.LimitReader(conn, maxExchange))
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause
	}
	if errors.Is(err, syscall.ECONNRESET) {
		return answer, err
	}
	return answer, nil
}
