package apiserver

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/gorilla/mux"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver/codec"
	"minikcm.dev/minikcm/apiserver/resources"
	"minikcm.dev/minikcm/apiserver/response"
	"minikcm.dev/minikcm/clock/inflight"
)

// MetricNames are the names of the metrics that an object provides: for itself, for the
// pods that it selects, and external ones for its namespace.
type MetricNames struct{ Own, OfPods, External []string }

// routeMetricNames adds the names of the existing metrics to the discovery of custom
// and external metrics, as adapters do. Its routes precede those of the discovery
// itself.
func (s *Server) routeMetricNames(router *mux.Router) {
	if s.opts.Metrics == nil {
		return
	}
	for _, row := range s.table.All() {
		if row.AnyNames != nil {
			path := "/apis/" + row.GroupVersion().String()
			router.HandleFunc(path, s.serveMetricNames(row))
			router.HandleFunc(path+"/", s.serveMetricNames(row))
		}
	}
}

// namedIn returns the resources whose objects are searched for names of metrics.
// Metrics of other resources are served but not listed.
func namedIn() []schema.GroupVersionResource {
	core, apps := corev1.SchemeGroupVersion, appsv1.SchemeGroupVersion
	return []schema.GroupVersionResource{
		core.WithResource("pods"), core.WithResource("services"), core.WithResource("namespaces"), core.WithResource("configmaps"),
		apps.WithResource("deployments"), apps.WithResource("statefulsets"),
	}
}

func (s *Server) serveMetricNames(row *resources.Resource) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		target, ok := codec.Negotiate(r.Header.Get("Accept"), nil)
		if !ok {
			response.Error(w, r, response.NotAcceptable())
			return
		}
		defer inflight.Begin(s.opts.Ledger, inflight.Request).End()
		names, err := row.AnyNames(r.Context(), metricsWorld{s})
		if err != nil {
			response.Error(w, r, err)
			return
		}
		list := &metav1.APIResourceList{GroupVersion: row.GroupVersion().String(), APIResources: []metav1.APIResource{}}
		for _, name := range names {
			list.APIResources = append(list.APIResources, metav1.APIResource{
				Name: name, Namespaced: !strings.HasPrefix(name, "namespaces/"), Kind: row.Kind, Verbs: []string{"get"},
			})
		}
		serveDocument(w, r, target.Media, list)
	}
}

// CustomMetricNames returns RESOURCE/METRIC for the custom metrics, sorted.
func (w metricsWorld) CustomMetricNames(ctx context.Context) ([]string, error) {
	return w.collectNames(ctx, func(resource string, names MetricNames) []string {
		return appendNames(appendNames(nil, resource, names.Own), "pods", names.OfPods)
	})
}

// ExternalMetricNames returns the names of the external metrics, sorted.
func (w metricsWorld) ExternalMetricNames(ctx context.Context) ([]string, error) {
	return w.collectNames(ctx, func(_ string, names MetricNames) []string { return names.External })
}

// collectNames returns what pick returns for the metrics of all objects, sorted.
func (w metricsWorld) collectNames(ctx context.Context, pick func(resource string, names MetricNames) []string) ([]string, error) {
	var all []string
	for _, gvr := range namedIn() {
		objects, err := w.List(ctx, gvr, "")
		if err != nil {
			return nil, err
		}
		for _, obj := range objects {
			o, err := meta.Accessor(obj)
			if err != nil {
				return nil, err
			}
			all = append(all, pick(gvr.GroupResource().String(), w.opts.Metrics.MetricNames(o))...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

func appendNames(all []string, resource string, names []string) []string {
	for _, name := range names {
		all = append(all, resource+"/"+name)
	}
	return all
}
