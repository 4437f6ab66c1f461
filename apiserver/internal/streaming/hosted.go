package streaming

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/httpstream"
	"k8s.io/apimachinery/pkg/util/proxy"

	"minikcm.dev/minikcm/apiserver/internal/response"
	"minikcm.dev/minikcm/apiserver/internal/slowclient"
	"minikcm.dev/minikcm/internal/auth"
	"minikcm.dev/minikcm/internal/hostaddress"
	"minikcm.dev/minikcm/internal/relay"
)

// hostTLSTimeout is a duration of real time, as for everything on sockets.
const hostTLSTimeout = 10 * time.Second

// passOut sends the request to a process outside of the cluster (the annotation
// minikcm.dev/host), with another path, and its response to the client, whose links it adapts as upstream's proxy does. Like upstream's, it
// does not verify certificates.
func (s *Server) passOut(ctx context.Context, rq *Request, scheme, address, path string) error {
	ctx, cancel := s.untilStopped(ctx)
	defer cancel()
	upgrade := httpstream.IsUpgradeRequest(rq.HTTP)
	var w http.ResponseWriter
	if upgrade {
		var err error
		if w, err = response.Hijackable(rq.Writer); err != nil {
			return err
		}
	} else {
		out := slowclient.NewStream(ctx, rq.Writer)
		defer out.End()
		w = passedWriter{rq.Writer, out}
	}
	inner := rq.HTTP.Clone(ctx)
	auth.DropCredentials(inner.Header) // meant for the apiserver only
	responder := &unreached{}
	transport := &http.Transport{
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) { return relay.Dial(ctx, address) },
		// The connection would outlive the request, and with it the server.
		DisableKeepAlives: true, TLSHandshakeTimeout: hostTLSTimeout,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12},
	}
	location := &url.URL{Scheme: scheme, Host: address, Path: path, RawQuery: rq.HTTP.URL.RawQuery}
	handler := proxy.NewUpgradeAwareHandler(location, transport, true, false, responder)
	handler.ServeHTTP(w, inner)
	if responder.err != nil {
		return apierrors.NewServiceUnavailable("error trying to reach service: " + responder.err.Error())
	}
	return nil
}

// unreached keeps the error of a request that got no response.
type unreached struct{ err error }

// Error implements proxy.ErrorResponder.
func (u *unreached) Error(_ http.ResponseWriter, _ *http.Request, err error) { u.err = err }

// hostOf returns the address of the process that stands for a port of a pod; empty: there is
// none.
func (s *Server) hostOf(ctx context.Context, pod *corev1.Pod, port int32) (string, error) {
	services, err := s.opts.Services(ctx, pod.Namespace)
	if err != nil {
		return "", err
	}
	return hostaddress.OfPod(services, pod, port), nil
}
