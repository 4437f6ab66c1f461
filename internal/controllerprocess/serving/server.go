package serving

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"strconv"
	"sync"
	"syscall"
	"time"

	"k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/klog/v2"
)

// headerTimeout bounds the time to read a request's header, and shutdownTimeout the time
// that requests in progress have to finish when the server closes.
const (
	headerTimeout   = 32 * time.Second
	shutdownTimeout = 5 * time.Second
)

// Server is an HTTPS server that runs from Start to Close.
type Server struct {
	address string
	http    *http.Server
	stop    context.CancelFunc
	running sync.WaitGroup
}

// Client accesses a cluster.
type Client = kubernetes.Interface

// Reviewers are clients of the clusters that review tokens and access.
type Reviewers struct{ Authentication, Authorization Client }

// Start listens and serves handler to the clients that the reviewers authorize. If moved is
// true and the port is in use, Start chooses a free one. ctx bounds only the start.
func Start(ctx context.Context, o *Options, reviewers Reviewers, handler http.Handler, moved bool) (*Server, error) {
	listener, err := o.listen(ctx, moved)
	if err != nil {
		return nil, err
	}
	s := &Server{address: listener.Addr().String()}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	if err := s.start(ctx, running, o, reviewers, handler, listener); err != nil {
		stop()
		s.running.Wait()
		return nil, errors.Join(err, listener.Close())
	}
	return s, nil
}

func (s *Server) start(ctx, running context.Context, o *Options, reviewers Reviewers, handler http.Handler, listener net.Listener) error {
	ca, caRunner, err := o.clientCA(ctx, reviewers.Authentication)
	if err != nil {
		return err
	}
	config, runners, err := o.tlsConfig(ctx, ca, caRunner)
	if err != nil {
		return err
	}
	guarded, err := o.guard(reviewers, ca, handler)
	if err != nil {
		return err
	}
	for _, r := range runners {
		s.running.Go(func() { r.Run(running, 1) })
	}
	s.http = &http.Server{
		Handler: guarded, TLSConfig: config, ReadHeaderTimeout: headerTimeout,
		ErrorLog: log.New(klogWriter{}, "", 0),
	}
	s.running.Go(func() {
		if err := s.http.ServeTLS(listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
			klog.Background().Error(err, "Serving ended", "address", s.address)
		}
	})
	return nil
}

// Address returns the IP address and port that the server listens on.
func (s *Server) Address() string { return s.address }

// Close stops the server and returns when everything that Start started has ended.
func (s *Server) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		_ = s.http.Close() // cuts off requests that are still in progress
	}
	s.stop()
	s.running.Wait()
}

func (o *Options) listen(ctx context.Context, moved bool) (net.Listener, error) {
	address, network := net.JoinHostPort(o.BindAddress, strconv.Itoa(o.Port)), "tcp"
	if ip := net.ParseIP(o.BindAddress); ip != nil && ip.To4() != nil {
		network = "tcp4" // for Go, "tcp" on 0.0.0.0 includes IPv6
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, network, address)
	if moved && errors.Is(err, syscall.EADDRINUSE) {
		listener, err = (&net.ListenConfig{}).Listen(ctx, network, net.JoinHostPort(o.BindAddress, "0"))
	}
	if err != nil {
		return nil, fmt.Errorf("listening on %s (--bind-address and --secure-port say where): %w", address, err)
	}
	return listener, nil
}

// runner is a controller that keeps certificates up to date.
type runner interface {
	Run(ctx context.Context, workers int)
}

// certificates adapts the controller that reloads certificates to runner.
type certificates struct {
	*dynamiccertificates.DynamicServingCertificateController
}

func (c certificates) Run(ctx context.Context, workers int) {
	c.DynamicServingCertificateController.Run(workers, ctx.Done())
}

func (o *Options) tlsConfig(ctx context.Context, ca dynamiccertificates.CAContentProvider, caRunner dynamiccertificates.ControllerRunner) (*tls.Config, []runner, error) {
	version, err := cliflag.TLSVersion(o.MinVersion)
	if err != nil {
		return nil, nil, err
	}
	suites, err := cliflag.TLSCipherSuites(o.CipherSuites)
	if err != nil {
		return nil, nil, err
	}
	config := &tls.Config{MinVersion: version, CipherSuites: suites, NextProtos: []string{"h2", "http/1.1"}}
	if ca != nil {
		config.ClientAuth = tls.RequestClientCert
	}
	cert, certRunner, err := o.certificate()
	if err != nil {
		return nil, nil, err
	}
	dynamic := dynamiccertificates.NewDynamicServingCertificateController(config, ca, cert, nil, nil)
	var runners []runner
	if ca != nil {
		ca.AddListener(dynamic)
		runners = append(runners, caRunner)
		if err := caRunner.RunOnce(ctx); err != nil {
			return nil, nil, fmt.Errorf("finding the CA of client certificates: %w", err)
		}
	}
	if certRunner != nil {
		cert.AddListener(dynamic)
		runners = append(runners, certRunner)
	}
	if err := dynamic.RunOnce(); err != nil {
		return nil, nil, fmt.Errorf("setting up TLS: %w", err)
	}
	config.GetConfigForClient = dynamic.GetConfigForClient
	return config, append(runners, certificates{dynamic}), nil
}

// guard adds authentication and authorization to the handler.
func (o *Options) guard(reviewers Reviewers, ca dynamiccertificates.CAContentProvider, handler http.Handler) (http.Handler, error) {
	authn, err := authentication(reviewers.Authentication, ca)
	if err != nil {
		return nil, err
	}
	authz, err := o.authorization(reviewers.Authorization)
	if err != nil {
		return nil, err
	}
	handler = filters.WithAuthorization(handler, authz, scheme.Codecs)
	handler = filters.WithAuthentication(handler, authn, filters.Unauthorized(scheme.Codecs), nil, nil)
	handler = filters.WithRequestInfo(handler, &request.RequestInfoFactory{})
	return filters.WithCacheControl(handler), nil
}

// klogWriter logs the HTTP server's messages about faulty clients.
type klogWriter struct{}

func (klogWriter) Write(line []byte) (int, error) {
	klog.Background().V(2).Info("Serving", "message", string(line))
	return len(line), nil
}
