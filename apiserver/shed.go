package apiserver

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"minikcm.dev/minikcm/apiserver/internal/metrics"
	"minikcm.dev/minikcm/apiserver/internal/pressure"
	"minikcm.dev/minikcm/apiserver/internal/request"
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
	var all []metrics.Stored
	for stored := range s.storedSizes {
		if stored.Objects > 0 {
			all = append(all, stored)
		}
	}
	name := func(r metrics.Stored) string {
		return schema.GroupResource{Group: r.Group, Resource: r.Resource}.String()
	}
	slices.SortFunc(all, func(a, b metrics.Stored) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(name(a), name(b)))
	})
	var text []string
	for _, r := range all[:min(3, len(all))] {
		text = append(text, fmt.Sprintf("%d %s of %d MiB", r.Objects, name(r), r.Bytes>>20))
	}
	return strings.Join(text, ", ")
}

// storedSizes yields the sizes of the watch caches that have started, of custom kinds too.
func (s *Server) storedSizes(yield func(metrics.Stored) bool) {
	for row, objects := range s.current().Stored(s.stored) {
		if n, bytes, ok := objects.Cache().Size(); ok && !yield(metrics.Stored{Group: row.Group, Resource: row.Plural, Objects: n, Bytes: bytes}) {
			return
		}
	}
}
