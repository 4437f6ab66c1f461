package peers

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"time"

	"minikcm.dev/minikcm/internal/auth"
)

// User is the user name of the client certificate with which processes on one etcd make the
// requests of each other's clients. Its group is system:masters.
const User = "system:minikcm:peer"

// IsPeer reports whether the user is another process on the same etcd. That has authorized and
// admitted the request of its client already, and the request must not be passed on again.
//
// A client that may impersonate the group system:masters may do anything, so it gains nothing by
// this name.
func IsPeer(user *auth.User) bool {
	return user != nil && user.Name == User && slices.Contains(user.Groups, auth.GroupMasters)
}

// Options configure New. All but ResponseTimeout are required.
type Options struct {
	// Authority signs the client certificate of the requests.
	Authority *auth.Authority
	// RootCAs are the authorities, in PEM, of the serving certificates of all processes.
	RootCAs []byte
	// Owner returns the address and port of the API server of the process that simulates a
	// node; empty if it is this process.
	Owner func(ctx context.Context, node string) (address string, err error)
	// ResponseTimeout bounds, in real time, the waits for the TLS handshake and then for the
	// header of a response: a process that is paused accepts connections and does not answer. 0
	// means DefaultResponseTimeout.
	ResponseTimeout time.Duration
}

// DefaultResponseTimeout is the default of Options.ResponseTimeout.
const DefaultResponseTimeout = 10 * time.Second

// Peers passes requests on to other processes. Create it with New.
type Peers struct {
	opts      Options
	transport *http.Transport
}

// Durations of real time, as for everything on sockets.
const (
	dialTimeout = 5 * time.Second
	idleTimeout = 30 * time.Second
)

// New returns Peers without connections.
func New(opts Options) (*Peers, error) {
	if opts.ResponseTimeout == 0 {
		opts.ResponseTimeout = DefaultResponseTimeout
	}
	pair, err := opts.Authority.Client(User, auth.GroupMasters)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(opts.RootCAs) {
		return nil, errors.New("there is no certificate among the authorities of the other processes")
	}
	dialer := &net.Dialer{Timeout: dialTimeout}
	// It speaks HTTP/1.1 only, because HTTP/2 does not upgrade connections.
	return &Peers{opts: opts, transport: &http.Transport{
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, Certificates: []tls.Certificate{pair.TLS()}},
		DialContext:     dialer.DialContext, TLSHandshakeTimeout: opts.ResponseTimeout,
		ResponseHeaderTimeout: opts.ResponseTimeout, IdleConnTimeout: idleTimeout,
	}}, nil
}

// Close closes the connections that no request uses.
func (p *Peers) Close() { p.transport.CloseIdleConnections() }

// Peer is another process.
type Peer struct {
	transport http.RoundTripper
	address   string
}

// Find returns the process that simulates a node; nil if it is this one.
func (p *Peers) Find(ctx context.Context, node string) (*Peer, error) {
	address, err := p.opts.Owner(ctx, node)
	if err != nil || address == "" {
		return nil, err
	}
	return &Peer{p.transport, address}, nil
}

// Pass sends a request with another path and query to the API server of the peer, and its
// response, or the streams of an upgraded connection, to the client. It returns when both have
// ended, or the request's context. It returns an error if the peer cannot be reached; then
// nothing was written to w.
func (p *Peer) Pass(w http.ResponseWriter, r *http.Request, path, query string) error {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel() // closes the peer's side of an upgraded connection
	var failed error
	passing := httputil.ReverseProxy{
		Transport: p.transport,
		Rewrite: func(pr *httputil.ProxyRequest) {
			pr.Out.URL = &url.URL{Scheme: "https", Host: p.address, Path: path, RawQuery: query}
			pr.Out.Host = p.address
			pr.SetXForwarded()
			dropCredentials(pr.Out.Header)
		},
		ModifyResponse: func(answer *http.Response) error {
			for name := range answer.Header { // such as the Audit-Id of the peer
				if len(w.Header()[name]) > 0 {
					answer.Header.Del(name)
				}
			}
			return nil
		},
		FlushInterval: -1, // at once
		ErrorHandler:  func(_ http.ResponseWriter, _ *http.Request, err error) { failed = err },
		ErrorLog:      log.New(io.Discard, "", 0), // the client has gone
	}
	passing.ServeHTTP(w, r.WithContext(ctx))
	return failed
}

// dropCredentials removes the headers by which the client identifies its user.
func dropCredentials(header http.Header) {
	auth.DropCredentials(header)
	for name := range header {
		if strings.HasPrefix(name, "Impersonate-") {
			header.Del(name)
		}
	}
}
