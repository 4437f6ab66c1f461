package aggregator

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/httpstream"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/proxy"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/transport"

	"minikcm.dev/minikcm/apiserver/internal/flow"
	"minikcm.dev/minikcm/internal/auth"
	"minikcm.dev/minikcm/internal/inflight"
)

// openAPIPrefix is where the documents of versions are served.
const openAPIPrefix = "/openapi/v3/"

// Serves reports whether another server serves the request's path: the path of a version, one
// beneath it, or the path of its OpenAPI document.
func (a *Aggregator) Serves(r *http.Request) bool {
	return a.backendFor(r) != nil
}

func (a *Aggregator) backendFor(r *http.Request) *backend {
	if now, err := a.servers(r.Context()); err == nil && len(now.backends) == 0 {
		return nil
	}
	path := strings.TrimPrefix(r.URL.Path, strings.TrimSuffix(openAPIPrefix, "/"))
	rest, ok := strings.CutPrefix(path, "/apis/")
	if !ok {
		return nil
	}
	group, rest, _ := strings.Cut(rest, "/")
	version, _, _ := strings.Cut(rest, "/")
	if version == "" {
		return nil
	}
	return a.backend(r.Context(), schema.GroupVersion{Group: group, Version: version})
}

// ServeHTTP passes a request for which Serves returned true on. The request counts as in
// flight until it is answered, except a long-running one.
func (a *Aggregator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if info, ok := apirequest.RequestInfoFrom(r.Context()); !ok || !flow.IsLongRunning(info) {
		defer inflight.Begin(a.opts.Ledger, inflight.Request).End()
	}
	b, user := a.backendFor(r), auth.FromContext(r.Context())
	switch {
	case b == nil || user == nil:
		http.Error(w, "404 page not found", http.StatusNotFound) // the APIService has just been deleted
		return
	case b.err != nil:
		http.Error(w, b.err.Error(), http.StatusInternalServerError)
		return
	case !b.available():
		http.Error(w, "service unavailable", http.StatusServiceUnavailable)
		return
	}
	ref := b.service.Spec.Service
	address, err := a.opts.Services.ResolveEndpoint(ref.Namespace, ref.Name, portOf(ref))
	if warning, skipped := a.opts.Skips(err); skipped {
		answerSkipped(w, r, b, warning)
		return
	}
	if err != nil {
		a.opts.Logger.V(1).Info("Resolving the Service of an APIService", "apiService", b.service.Name, "err", err)
		http.Error(w, "service unavailable", http.StatusServiceUnavailable)
		return
	}
	location := *r.URL
	location.Scheme, location.Host = address.Scheme, address.Host
	a.pass(w, r, b, user, &location)
}

// answerSkipped answers for a server that is skipped: its version has no resources.
func answerSkipped(w http.ResponseWriter, r *http.Request, b *backend, text string) {
	if header, err := utilnet.NewWarningHeader(299, "-", text); err == nil {
		w.Header().Add("Warning", header)
	}
	code, answer := http.StatusOK, any(metav1.APIResourceList{
		TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: b.gv().String(), APIResources: []metav1.APIResource{},
	})
	if strings.TrimSuffix(r.URL.Path, "/") != versionPath(b.gv()) {
		status := apierrors.NewGenericServerResponse(http.StatusNotFound, "", schema.GroupResource{}, "", text, 0, true).ErrStatus
		status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
		code, answer = http.StatusNotFound, status
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(answer) // the client has gone
}

// pass sends a request to a server, as the user.
func (a *Aggregator) pass(w http.ResponseWriter, r *http.Request, b *backend, user *auth.User, location *url.URL) {
	ctx, cancel := context.WithCancel(r.Context())
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-a.opts.Done: // a watch would last longer
			cancel()
		case <-ctx.Done():
		}
	}()
	defer func() {
		cancel()
		<-watched
	}()
	out := r.Clone(ctx)
	out.Header.Del("Authorization")
	out.Host = location.Host
	upgrade := httpstream.IsUpgradeRequest(r)
	carrier := transport.NewAuthProxyRoundTripper(user.Name, user.UID, user.Groups, user.Extra, b.transport)
	if upgrade {
		transport.SetAuthProxyHeaders(out, user.Name, user.UID, user.Groups, user.Extra)
	}
	handler := proxy.NewUpgradeAwareHandler(location, carrier, true, upgrade, failing{w})
	handler.UseLocationHost = true
	handler.RejectForwardingRedirects = true
	handler.ServeHTTP(w, out)
}

// failing answers requests that could not be passed on.
type failing struct{ w http.ResponseWriter }

// Error implements proxy.ErrorResponder.
func (f failing) Error(_ http.ResponseWriter, _ *http.Request, err error) {
	http.Error(f.w, err.Error(), http.StatusServiceUnavailable)
}
