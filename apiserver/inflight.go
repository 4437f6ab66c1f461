package apiserver

import (
	"net/http"
	"slices"

	"minikcm.dev/minikcm/apiserver/auth"
	"minikcm.dev/minikcm/apiserver/request"
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
func (l *inFlightLimits) enter(rq *call) (leave func(), ok bool) {
	if rq.Local || mayLast(rq) {
		return func() {}, true
	}
	limit := l.writes
	if rq.Verb == request.VerbGet || rq.Verb == request.VerbList {
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
		return func() {}, slices.Contains(rq.User.Groups, auth.GroupMasters)
	}
}

// mayLast reports whether a request is long-running, as upstream decides it: by verb and
// subresource only.
func mayLast(rq *call) bool {
	switch rq.Subresource {
	case "attach", "exec", "log", "portforward", "proxy":
		return true
	}
	return rq.Verb == request.VerbWatch
}

// tooManyRequests responds to a request above the limit.
func tooManyRequests(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "1")
	http.Error(w, "Too many requests, please try again later.", http.StatusTooManyRequests)
}
