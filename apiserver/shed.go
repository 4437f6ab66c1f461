package apiserver

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"minikcm.dev/minikcm/apiserver/pressure"
	"minikcm.dev/minikcm/apiserver/request"
	"minikcm.dev/minikcm/clock"
)

const (
	// retryWhenShort is how long a client should wait that is rejected for want of memory.
	retryWhenShort = 5 // seconds
	// trimEvery is the least time between two trims of the caches, in real time.
	trimEvery = time.Second
)

// shedder rejects requests while the process is near its memory limit.
type shedder struct {
	gauge   *pressure.Gauge
	trim    func() // drops what can be read again
	largest func() string
	trimmed atomic.Int64 // time of the last trim, in nanoseconds
}

// check returns the error for a request that has to wait until there is memory. At level
// High these are the requests from the network that take memory; gets and deletes are
// served. At level Critical, the controllers of the process cannot create objects either.
func (s *shedder) check(info *apirequest.RequestInfo, local bool) error {
	if !info.IsResourceRequest || !takesMemory(info, local) {
		return nil // most requests of the process: they need not wait for the gauge
	}
	if level := s.gauge.Level(); level == pressure.Normal || local && level < pressure.Critical {
		return nil
	}
	now := clock.Real().Now().UnixNano()
	if last := s.trimmed.Load(); now-last >= int64(trimEvery) && s.trimmed.CompareAndSwap(last, now) {
		s.trim()
	}
	return apierrors.NewTooManyRequests(fmt.Sprintf("the process is near its memory limit (%s in use; the most objects are %s); delete objects, or raise --memory-limit", s.gauge, s.largest()), retryWhenShort)
}

// takesMemory reports whether serving a request may take memory. A request of the process
// itself takes it if it creates an object.
func takesMemory(info *apirequest.RequestInfo, local bool) bool {
	if local {
		return info.Verb == request.VerbCreate && info.Subresource == ""
	}
	switch info.Verb {
	case request.VerbGet, request.VerbDelete, request.VerbDeleteCollection:
		return info.Subresource != "" // exec, proxy
	}
	return true
}

// reportFullBudget logs that responses are rejected because clients do not read others.
func (s *Server) reportFullBudget(b *pressure.Budget) {
	s.opts.Notices.Info("Reads are rejected until clients have read their responses, which fill a part of the memory limit", "responses", b.String())
}

// trimCaches drops the history in the watch caches, of custom kinds too, the watches that lag
// behind, and the encodings of lists.
func (s *Server) trimCaches() {
	s.env.Lists.Trim()
	for _, objects := range s.current().Stored(s.stored) {
		objects.Cache().Trim()
	}
	s.opts.Notices.Info("Near the memory limit: dropped history and slow watches", "inUse", s.shed.gauge.String(), "largest", s.largestCaches())
}

// largestCaches names the resources with the most bytes of stored objects.
func (s *Server) largestCaches() string {
	type cached struct {
		name           string
		objects, bytes int64
	}
	var all []cached
	for row, objects := range s.current().Stored(s.stored) {
		if n, bytes, ok := objects.Cache().Size(); ok && n > 0 {
			all = append(all, cached{row.GroupResource().String(), n, bytes})
		}
	}
	slices.SortFunc(all, func(a, b cached) int { return cmp.Or(cmp.Compare(b.bytes, a.bytes), cmp.Compare(a.name, b.name)) })
	var text []string
	for _, c := range all[:min(3, len(all))] {
		text = append(text, fmt.Sprintf("%d %s of %d MiB", c.objects, c.name, c.bytes>>20))
	}
	return strings.Join(text, ", ")
}
