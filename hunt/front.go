package hunt

import (
	"context"
	"crypto/tls"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"
	"k8s.io/streaming/pkg/httpstream"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/auth"
)

// certificate is used by all fronts of a hunt.
type certificate struct {
	pem []byte
	tls tls.Certificate
}

func newCertificate() (*certificate, error) {
	pem, key, err := cert.GenerateSelfSignedCertKey("localhost", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		return nil, fmt.Errorf("making the certificate of the operator's connection: %w", err)
	}
	pair, err := tls.X509KeyPair(pem, key)
	return &certificate{pem, pair}, err
}

// front is the API server to one life of a program: a socket, whose requests pass a connection.
type front struct {
	server     *http.Server
	served     sync.WaitGroup
	kubeconfig []byte
	// asked is closed with the first request.
	asked chan struct{}
}

// newFront serves the cluster to a life of the operator, as user.
func newFront(cluster *minikcm.Cluster, life *life, user string, c *certificate) (*front, error) {
	config := cluster.ConfigFor(user, auth.GroupMasters)
	next, err := rest.TransportFor(config)
	if err != nil {
		return nil, err
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	if next, err = newUpgrading(cluster, user, next); err != nil {
		return nil, err
	}
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening for the operator: %w", err)
	}
	f := &front{asked: make(chan struct{})}
	var once sync.Once
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: base.Scheme, Host: base.Host})
			r.Out.Header.Del("Authorization") // the user is known
		},
		Transport:     &connection{life: life, next: next},
		FlushInterval: -1,
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		ErrorLog:      log.New(discarded{}, "", 0),
	}
	f.server = &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			once.Do(func() { close(f.asked) })
			proxy.ServeHTTP(w, r)
		}),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{c.tls}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}},
		ErrorLog:  log.New(discarded{}, "", 0),
	}
	f.served.Go(func() { _ = f.server.ServeTLS(listener, "", "") }) // it ends with close
	f.kubeconfig, err = kubeconfigFor("https://"+listener.Addr().String(), c.pem)
	return f, err
}

// upgrading passes requests on, over the cluster's socket if they upgrade their connection: a client in the process cannot.
type upgrading struct {
	next, socket http.RoundTripper
	host         string
}

func newUpgrading(cluster *minikcm.Cluster, user string, next http.RoundTripper) (*upgrading, error) {
	config, err := cluster.HTTPSConfig()
	if err != nil {
		return nil, err
	}
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{auth.GroupMasters}}
	config.NextProtos = []string{"http/1.1"}
	socket, err := rest.TransportFor(config)
	return &upgrading{next: next, socket: socket, host: cluster.Address()}, err
}

func (u *upgrading) RoundTrip(req *http.Request) (*http.Response, error) {
	if !httpstream.IsUpgradeRequest(req) {
		return u.next.RoundTrip(req)
	}
	req = req.Clone(req.Context())
	req.URL.Scheme, req.URL.Host = "https", u.host
	return u.socket.RoundTrip(req)
}

// close ends the connections of the life.
func (f *front) close() {
	_ = f.server.Close() // the listener's error does not matter
	f.served.Wait()
}

// discarded is a log without readers: a crash breaks connections.
type discarded struct{}

func (discarded) Write(p []byte) (int, error) { return len(p), nil }

func kubeconfigFor(server string, ca []byte) ([]byte, error) {
	const name = "hunt"
	return clientcmd.Write(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{name: {Server: server, CertificateAuthorityData: ca}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{name: {Token: "operator"}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name, Namespace: "default"}},
		CurrentContext: name,
	})
}
