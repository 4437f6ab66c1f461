package peers_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/auth"
	"minikcm.dev/minikcm/internal/peers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// otherProcess is an HTTPS server with a certificate of the shared authority.
func otherProcess(t *testing.T, authority *auth.Authority, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	pair, err := authority.Server("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(handler)
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair.TLS()}, ClientAuth: tls.RequestClientCert}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

// newPeers returns Peers of which one owns all nodes.
func newPeers(t *testing.T, authority *auth.Authority, address string) *peers.Peers {
	t.Helper()
	return newPeersWithin(t, authority, address, 0)
}

// newPeersWithin is newPeers with a ResponseTimeout.
func newPeersWithin(t *testing.T, authority *auth.Authority, address string, timeout time.Duration) *peers.Peers {
	t.Helper()
	p, err := peers.New(peers.Options{ResponseTimeout: timeout, Authority: authority, RootCAs: authority.CertPEM(), Owner: func(_ context.Context, node string) (string, error) {
		switch node {
		case "own":
			return "", nil
		case "nowhere":
			return "", errors.New("no owner")
		}
		return address, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func newAuthority(t *testing.T) *auth.Authority {
	t.Helper()
	authority, err := auth.NewAuthority("test", clock.Real().Now())
	if err != nil {
		t.Fatal(err)
	}
	return authority
}

// TestPass passes a request on: path and query are replaced, the client's credentials are not
// sent, and the peer knows the certificate.
func TestPass(t *testing.T) {
	authority := newAuthority(t)
	server := otherProcess(t, authority, func(w http.ResponseWriter, r *http.Request) {
		for name := range r.Header {
			if strings.HasPrefix(name, "Impersonate-") || name == "Authorization" || name == "X-Remote-User" {
				t.Errorf("the peer gets the header %s", name)
			}
		}
		if names := r.TLS.PeerCertificates; len(names) != 1 || names[0].Subject.CommonName != peers.User {
			t.Errorf("the peer sees the certificates %v", names)
		}
		w.Header().Set("Audit-Id", "the peer's")
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, r.URL.String())
	})
	p := newPeers(t, authority, server.Listener.Addr().String())
	peer, err := p.Find(t.Context(), "a")
	if err != nil || peer == nil {
		t.Fatal(peer, err)
	}
	r := httptest.NewRequest(http.MethodGet, "/original?a=b", nil)
	r.Header = http.Header{"Authorization": {"Bearer x"}, "Impersonate-User": {"jane"}, "Impersonate-Extra-A": {"b"}, "X-Remote-User": {"jane"}}
	w := httptest.NewRecorder()
	w.Header().Set("Audit-Id", "own")
	if err := peer.Pass(w, r, "/other path", "c=d"); err != nil {
		t.Fatal(err)
	}
	if w.Code != http.StatusTeapot || w.Body.String() != "/other%20path?c=d" || len(w.Header()["Audit-Id"]) != 1 {
		t.Errorf("the client gets %d %q, %v", w.Code, w.Body, w.Header())
	}
}

// TestUnreachable checks the errors of peers that cannot be reached: nothing is written.
func TestUnreachable(t *testing.T) {
	authority := newAuthority(t)
	dead := otherProcess(t, authority, nil)
	dead.Close()
	stranger := otherProcess(t, newAuthority(t), func(http.ResponseWriter, *http.Request) {
		t.Error("a server of another authority gets the request")
	})
	for address, want := range map[string]string{
		dead.Listener.Addr().String():     "connection refused",
		stranger.Listener.Addr().String(): "certificate signed by unknown authority",
	} {
		for _, upgrade := range []bool{false, true} {
			peer, err := newPeers(t, authority, address).Find(t.Context(), "a")
			if err != nil {
				t.Fatal(err)
			}
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			if upgrade {
				r.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}}
			}
			w := httptest.NewRecorder()
			if err := peer.Pass(w, r, "/", ""); err == nil || !strings.Contains(err.Error(), want) || w.Body.Len() > 0 {
				t.Errorf("passing on: %v, %q", err, w.Body)
			}
		}
	}
}

// TestFind finds no peer for an own node.
func TestFind(t *testing.T) {
	p := newPeers(t, newAuthority(t), "127.0.0.1:1")
	if peer, err := p.Find(t.Context(), "own"); peer != nil || err != nil {
		t.Errorf("of an own node: %v, %v", peer, err)
	}
	if _, err := p.Find(t.Context(), "nowhere"); err == nil {
		t.Error("no error without an owner")
	}
	for _, user := range []*auth.User{nil, {Name: peers.User}, {Name: "jane", Groups: []string{auth.GroupMasters}}} {
		if peers.IsPeer(user) {
			t.Errorf("%v counts as a peer", user)
		}
	}
}

// TestPaused passes requests on to a process that was paused before a connection was made to
// it, and to one that was paused afterwards.
func TestPaused(t *testing.T) {
	authority := newAuthority(t)
	before, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = before.Close() })
	resumed := make(chan struct{})
	after := otherProcess(t, authority, func(http.ResponseWriter, *http.Request) { <-resumed })
	t.Cleanup(func() { close(resumed) })
	for name, address := range map[string]string{"before": before.Addr().String(), "after": after.Listener.Addr().String()} {
		t.Run(name, func(t *testing.T) {
			peer, err := newPeersWithin(t, authority, address, 50*time.Millisecond).Find(t.Context(), "a")
			if err != nil {
				t.Fatal(err)
			}
			w := httptest.NewRecorder()
			err = peer.Pass(w, httptest.NewRequest(http.MethodGet, "/", nil), "/", "")
			if err == nil || !strings.Contains(err.Error(), "timeout") || w.Body.Len() > 0 {
				t.Errorf("the request ends with %v and %q", err, w.Body)
			}
		})
	}
}
