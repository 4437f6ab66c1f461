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
	externalmetrics "k8s.io/metrics/pkg/apis/external_metrics"

	"minikcm.dev/minikcm/apiserver/codec"
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
		if row.Computed && namedByMetrics(row.Group) {
			path := "/apis/" + row.GroupVersion().String()
			router.HandleFunc(path, s.serveMetricNames(row.GroupVersion(), row.Kind))
			router.HandleFunc(path+"/", s.serveMetricNames(row.GroupVersion(), row.Kind))
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

func (s *Server) serveMetricNames(gv schema.GroupVersion, kind string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		target, ok := codec.Negotiate(r.Header.Get("Accept"), nil)
		if !ok {
			response.Error(w, r, response.NotAcceptable())
			return
		}
		defer inflight.Begin(s.opts.Ledger, inflight.Request).End()
		custom, external, err := s.metricNames(r.Context())
		if err != nil {
			response.Error(w, r, err)
			return
		}
		names := custom
		if gv.Group == externalmetrics.GroupName {
			names = external
		}
		list := &metav1.APIResourceList{GroupVersion: gv.String(), APIResources: []metav1.APIResource{}}
		for _, name := range names {
			list.APIResources = append(list.APIResources, metav1.APIResource{
				Name: name, Namespaced: !strings.HasPrefix(name, "namespaces/"), Kind: kind, Verbs: []string{"get"},
			})
		}
		serveDocument(w, r, target.Media, list)
	}
}

// metricNames returns the names of the custom and external metrics for the discovery,
// sorted.
func (s *Server) metricNames(ctx context.Context) (custom, external []string, err error) {
	world := metricsWorld{s}
	for _, gvr := range namedIn() {
		objects, err := world.List(ctx, gvr, "")
		if err != nil {
			return nil, nil, err
		}
		for _, obj := range objects {
			o, err := meta.Accessor(obj)
			if err != nil {
				return nil, nil, err
			}
			names := s.opts.Metrics.MetricNames(o)
			custom = appendNames(custom, gvr.GroupResource().String(), names.Own)
			custom = appendNames(custom, "pods", names.OfPods)
			external = append(external, names.External...)
		}
	}
	slices.Sort(custom)
	slices.Sort(external)
	return slices.Compact(custom), slices.Compact(external), nil
}

func appendNames(all []string, resource string, names []string) []string {
	for _, name := range names {
		all = append(all, resource+"/"+name)
	}
	return all
}
