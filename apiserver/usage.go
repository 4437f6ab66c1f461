package apiserver

import (
	"context"
	"net/http"

	"github.com/gorilla/mux"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver/internal/codec"
	"minikcm.dev/minikcm/apiserver/internal/discovery"
	"minikcm.dev/minikcm/apiserver/internal/metricsapi"
	"minikcm.dev/minikcm/apiserver/internal/request"
	"minikcm.dev/minikcm/apiserver/internal/resources"
	"minikcm.dev/minikcm/apiserver/internal/response"
	"minikcm.dev/minikcm/apiserver/internal/storage"
	"minikcm.dev/minikcm/apiserver/internal/watchcache"
	"minikcm.dev/minikcm/internal/inflight"
)

// withMetrics adds the kinds of the metrics APIs if source is not nil.
func withMetrics(table *resources.Table, source metricsapi.Source) *resources.Table {
	if source == nil {
		return table
	}
	return table.With(resources.MetricsRows()...)
}

// metricsObjects implements metricsapi.Objects with the server's watch caches.
type metricsObjects struct{ server *Server }

// Preferred implements metricsapi.Objects.
func (m metricsObjects) Preferred(resource schema.GroupResource) *resources.Resource {
	table := m.server.current().Table
	for _, group := range table.Groups() {
		if group.Name != resource.Group {
			continue
		}
		for _, version := range group.Versions {
			if row := table.Lookup(resource.WithVersion(version)); row != nil && row.IsStored() {
				return row
			}
		}
	}
	return nil
}

// List implements metricsapi.Objects.
func (m metricsObjects) List(ctx context.Context, gvr schema.GroupVersionResource, namespace string, label labels.Selector, field fields.Selector) ([]runtime.Object, error) {
	found := m.server.definitions.Find(gvr, false)
	defer found.Leave()
	if found.Row == nil || found.Objects == nil {
		return nil, metricsapi.ErrNotStored
	}
	if !found.Row.Namespaced {
		namespace = ""
	}
	list, err := found.Objects.Cache().List(ctx, watchcache.ListOptions{
		Prefix: found.Objects.Prefix(namespace), Match: watchcache.Consistent, Label: label, Field: field,
	})
	if err != nil {
		return nil, storage.Translate(err, found.Row.GroupResource(), "")
	}
	all := make([]runtime.Object, len(list.Entries))
	for i, entry := range list.Entries {
		all[i] = request.FromStored(found.Row, entry.Object())
	}
	return all, nil
}

// ServeUsage serves GET on the metrics of one pod or node.
func (rq kindCall) ServeUsage(ctx context.Context) error {
	usage, err := rq.server.usage.UsageOf(ctx, rq.Row, rq.Namespace, rq.Name)
	if err != nil {
		return err
	}
	return rq.WriteResult(http.StatusOK, usage)
}

// ServeUsageList serves GET on the metrics of the pods of a namespace, of all pods, or
// of all nodes, without paging.
func (rq kindCall) ServeUsageList(ctx context.Context) error {
	opts, err := rq.ListOptions()
	if err != nil {
		return err
	}
	all, err := rq.server.usage.Usage(ctx, rq.Row, rq.Namespace, opts.Label, opts.Field)
	if err != nil {
		return err
	}
	return rq.WriteList(&request.Page{Objects: all})
}

// anyRow returns the row that serves all resources of a group and version, or nil.
func (s *Server) anyRow(gv schema.GroupVersion) *resources.Resource {
	for _, row := range s.table.InVersion(gv) {
		if row.GetAny != nil {
			return row
		}
	}
	return nil
}

// serveAny serves GET on any resource of the row's group and version.
func (rq kindCall) serveAny() error {
	if rq.HTTP.Method != http.MethodGet {
		return response.MethodNotAllowed()
	}
	target, ok := codec.Negotiate(rq.HTTP.Header.Get("Accept"), nil)
	if !ok {
		return response.NotAcceptable()
	}
	rq.Target = target
	defer inflight.Begin(rq.server.opts.Ledger, inflight.Request).End()
	ctx, cancel := context.WithTimeout(rq.HTTP.Context(), request.MaxDuration)
	defer cancel()
	return rq.Row.GetAny(ctx, rq)
}

// ServeMetricValues responds with the values of a custom or external metric.
func (rq kindCall) ServeMetricValues(ctx context.Context) error {
	values, err := rq.server.usage.Values(ctx, &metricsapi.ValuesRequest{
		Row: rq.Row, Resource: rq.GVR.Resource, Namespace: rq.Namespace, Name: rq.Name, Subresource: rq.Subresource, Query: rq.Query,
	})
	if err != nil {
		return err
	}
	return rq.WriteObject(http.StatusOK, rq.Row.GroupVersionKind, values)
}

// routeMetricNames adds the names of the existing metrics to the discovery of custom
// and external metrics, as adapters do. Its routes precede the routes of the discovery itself.
func (s *Server) routeMetricNames(router *mux.Router) {
	if s.opts.Metrics == nil {
		return
	}
	for _, row := range s.table.All() {
		if row.GetAny != nil {
			path := "/apis/" + row.GroupVersion().String()
			router.HandleFunc(path, s.serveMetricNames(row.GroupVersion(), row.Kind))
			router.HandleFunc(path+"/", s.serveMetricNames(row.GroupVersion(), row.Kind))
		}
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
		list, err := s.usage.Discovery(r.Context(), gv, kind)
		if err != nil {
			response.Error(w, r, err)
			return
		}
		discovery.ServeDocument(w, r, target.Media, list)
	}
}
