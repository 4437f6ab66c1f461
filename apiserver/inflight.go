package apiserver

import (
	"net/http"
	"slices"

	"minikcm.dev/minikcm/apiserver/auth"
)

// Upstream's defaults of --max-requests-inflight and --max-mutating-requests-inflight.
const (
	defaultReadsInFlight  = 400
	defaultWritesInFlight = 200
)

// inFlightLimits bound how many requests of clients on the network are served at once.
// Those that may last, and those of the process itself, do not count.
type inFlightLimits struct{ reads, writes chan struct{} }

// newInFlightLimits takes 0 as the default and a negative number as no limit.
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

// enter reports whether a request may be served now; if so, leave is called when it has
// been.
func (l *inFlightLimits) enter(rq *request) (leave func(), ok bool) {
	if rq.local || mayLast(rq) {
		return func() {}, true
	}
	limit := l.writes
	if rq.Verb == verbGet || rq.Verb == verbList {
		limit = l.reads
	}
	if limit == nil {
		return func() {}, true
	}
	select {
	case limit <- struct{}{}:
		return func() { <-limit }, true
	default:
		// Whoever could mend an overload always gets an answer, as upstream has it.
		return func() {}, slices.Contains(rq.user.Groups, auth.GroupMasters)
	}
}

// mayLast reports whether a request is of the kinds that upstream does not count: by its
// verb and subresource, before it is known what it asks of them.
func mayLast(rq *request) bool {
	switch rq.Subresource {
	case "attach", "exec", "log", "portforward", "proxy":
		return true
	}
	return rq.Verb == verbWatch
}

// tooManyRequests answers a request that came when too many others were being served.
func tooManyRequests(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "1")
	http.Error(w, "Too many requests, please try again later.", http.StatusTooManyRequests)
}
