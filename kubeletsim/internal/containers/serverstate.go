package containers

import (
	"sync"

	"minikcm.dev/minikcm/kubeletsim/internal/servers"
)

// serverState is kept between the requests to the servers of one run of a container.
type serverState struct {
	id string

	mu       sync.Mutex
	values   map[string]any // replaced, never modified
	requests int64
}

// server returns the state of a container's servers. Each run begins with first.
func (f *Files) server(name, id string, first map[string]any) *serverState {
	f.mu.Lock()
	defer f.mu.Unlock()
	kept := f.servers[name]
	if kept == nil || kept.id != id {
		kept = &serverState{id: id, values: first}
		if f.servers == nil {
			f.servers = map[string]*serverState{}
		}
		f.servers[name] = kept
	}
	return kept
}

// enter counts a request, and returns the values.
func (k *serverState) enter() (values map[string]any, number int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.requests++
	return k.values, k.requests
}

// change lets a route change the values. The input has the latest afterwards.
func (k *serverState) change(in *servers.Input, route *servers.Route) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	in.State = k.values
	next, err := route.Set(in)
	if err != nil {
		return err
	}
	k.values, in.State = next, next
	return nil
}
