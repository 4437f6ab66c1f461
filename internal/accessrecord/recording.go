package accessrecord

import (
	"slices"
	"sync"

	"minikcm.dev/minikcm/internal/leastprivilege"
)

const (
	// maxNames is how many names of objects are kept for requests that differ in nothing
	// else. More count as requests without a name.
	maxNames = 20
	// maxRequests is how many different requests are kept. Names do not count.
	maxRequests = 20_000
)

// Recording records the requests of one user. Its methods may be called concurrently.
type Recording struct {
	recorder *Recorder
	user     string
	enforce  bool

	mu       sync.Mutex
	found    map[key]*entry
	overflow bool
}

// key identifies requests that differ in the names of objects only.
type key struct {
	verb, group, resource, namespace, path string
	granted                                bool
}

type entry struct {
	request leastprivilege.Request
	// anyName reports that requests named no object, or too many.
	anyName bool
}

func (r *Recording) note(request leastprivilege.Request, denied bool) {
	k := key{request.Verb, request.Group, request.Resource, request.Namespace, request.Path, request.Granted}
	names := request.Names
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.found[k]
	if e == nil {
		if len(r.found) >= maxRequests {
			r.overflow = true
			return
		}
		request.Names = nil
		e = &entry{request: request}
		r.found[k] = e
	}
	e.request.Denied = e.request.Denied || denied
	if len(names) == 0 {
		e.anyName = true
	}
	for _, name := range names {
		if e.anyName || slices.Contains(e.request.Names, name) {
			continue
		}
		if len(e.request.Names) == maxNames {
			e.anyName = true
			break
		}
		e.request.Names = append(e.request.Names, name)
	}
	if e.anyName {
		e.request.Names = nil
	}
}

// Requests returns the requests until now, in the order of leastprivilege.Compare. complete is
// false if there were more than are kept.
func (r *Recording) Requests() (all []leastprivilege.Request, complete bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all = make([]leastprivilege.Request, 0, len(r.found))
	for _, e := range r.found {
		request := e.request
		request.Names = slices.Sorted(slices.Values(request.Names))
		all = append(all, request)
	}
	slices.SortFunc(all, leastprivilege.Compare)
	return all, !r.overflow
}

// End stops the recording. The user may then do only what the roles allow.
func (r *Recording) End() { r.recorder.end(r) }
