package apiserver

import (
	"fmt"
	"net/http"
	"slices"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm/apiserver/internal/flow"
	"minikcm.dev/minikcm/apiserver/internal/request"
	"minikcm.dev/minikcm/apiserver/internal/response"
	"minikcm.dev/minikcm/apiserver/internal/transport"
	"minikcm.dev/minikcm/internal/auth"
	"minikcm.dev/minikcm/internal/reasons"
)

// Upstream's defaults of --max-requests-inflight and --max-mutating-requests-inflight.
const (
	defaultReadsInFlight  = 400
	defaultWritesInFlight = 200
)

// inFlightLimits caps the requests from the network that are served at once.
// Long-running requests and requests from within the process do not count.
type inFlightLimits struct{ reads, writes chan struct{} }

// newInFlightLimits interprets 0 as the default and a negative number as no limit.
func newInFlightLimits(reads, writes int) *inFlightLimits {
	limit := func(n, byDefault int) chan struct{} {
		switch {
		case n < 0:
			return nil
		case n == 0:
			n = byDefault
		}
		return make(chan struct{}, n)
	}
	return &inFlightLimits{limit(reads, defaultReadsInFlight), limit(writes, defaultWritesInFlight)}
}

// enter reports whether a request may be served now; if so, the caller calls leave after
// serving it.
func (l *inFlightLimits) enter(info *apirequest.RequestInfo, user *auth.User) (leave func(), ok bool) {
	if flow.IsLongRunning(info) {
		return func() {}, true
	}
	limit := l.writes
	if !info.IsResourceRequest || info.Verb == request.VerbGet || info.Verb == request.VerbList {
		limit = l.reads
	}
	if limit == nil {
		return func() {}, true
	}
	select {
	case limit <- struct{}{}:
		return func() { <-limit }, true
	default:
		// Members of system:masters are always served, as upstream, because they may be
		// able to resolve the overload.
		return func() {}, slices.Contains(user.Groups, auth.GroupMasters)
	}
}

// limited serves a request with next when the limits allow it. All requests are subject to the memory
// limit; requests from the network are also subject to their priority while the server
// listens, and otherwise to inFlightLimits.
func (s *Server) limited(w http.ResponseWriter, r *http.Request, next http.Handler) {
	user, local := auth.FromContext(r.Context()), transport.IsLocal(r.Context())
	info, _ := apirequest.RequestInfoFrom(r.Context())
	if err := s.shed.check(info, local); err != nil {
		s.noteRefused(r, reasons.Refuser{Kind: reasons.ByFlowControl}, err)
		response.Error(w, r, err)
		return
	}
	if local {
		next.ServeHTTP(w, r)
		return
	}
	if control := s.flow.Load(); control != nil {
		control.Serve(&rejecting{w, s, r}, r, user) // which calls s.unlimited
		return
	}
	leave, ok := s.limits.enter(info, user)
	if !ok {
		s.noteRefused(r, reasons.Refuser{Kind: reasons.ByFlowControl}, errTooMany)
		tooManyRequests(w)
		return
	}
	defer leave()
	next.ServeHTTP(w, r)
}

// startFlow begins to serve requests from the network by their priority, unless there is no
// limit.
func (s *Server) startFlow() error {
	if s.limits.reads == nil || s.limits.writes == nil || s.stored[flowcontrolv1.SchemeGroupVersion.WithResource("flowschemas")] == nil {
		return nil
	}
	// Fault rules are for clients: this one is a part of the server.
	client, err := kubernetes.NewForConfig(Protobuf(s.ownConfig()))
	if err != nil {
		return fmt.Errorf("configuring priority and fairness: %w", err)
	}
	control := flow.Start(flow.Options{Client: client, Seats: cap(s.limits.reads) + cap(s.limits.writes), Size: s.sizeOf}, accepted(s.unlimited))
	if !s.flow.CompareAndSwap(nil, control) {
		control.Stop() // the server listens elsewhere, too
	}
	return nil
}

// sizeOf returns the number of cached objects of a resource, custom ones too, and their bytes.
func (s *Server) sizeOf(resource schema.GroupResource) (objects, bytes int64, ok bool) {
	for row, stored := range s.current().Stored(s.stored) {
		if row.Custom && row.GroupResource() == resource {
			return stored.Cache().Size()
		}
	}
	for _, row := range s.current().Table.All() {
		if row.GroupResource() == resource {
			if stored := s.objects(row); stored != nil {
				return stored.Cache().Size()
			}
		}
	}
	return 0, 0, false
}

// tooManyRequests responds to a request above the limit.
func tooManyRequests(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "1")
	http.Error(w, "Too many requests, please try again later.", http.StatusTooManyRequests)
}
