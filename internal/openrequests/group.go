package openrequests

import (
	"context"
	"net/http"
	"sync"
)

// Group is the set of a service's open requests. The zero value has none. Its methods may be
// called concurrently.
type Group struct {
	mu       sync.Mutex
	closed   bool
	last     int
	cancels  map[int]context.CancelFunc // of the open requests
	requests sync.WaitGroup
}

// Begin adds a request, unless the Group is closed, and returns its context, which Close
// cancels. The caller must call end when it has served the request.
func (g *Group) Begin(parent context.Context) (ctx context.Context, end func(), ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, nil, false
	}
	ctx, cancel := context.WithCancel(parent)
	if g.cancels == nil {
		g.cancels = map[int]context.CancelFunc{}
	}
	g.last++
	id := g.last
	g.cancels[id] = cancel
	g.requests.Add(1)
	return ctx, func() {
		cancel()
		g.mu.Lock()
		delete(g.cancels, id)
		g.mu.Unlock()
		g.requests.Done()
	}, true
}

// Serve serves a request of the Group: serve gets a context that Close cancels. Its error, or
// closed if the Group is closed, is the response, which answer writes.
func (g *Group) Serve(w http.ResponseWriter, r *http.Request, closed error, answer func(http.ResponseWriter, error), serve func(context.Context, http.ResponseWriter, *http.Request) error) {
	ctx, end, ok := g.Begin(r.Context())
	if !ok {
		answer(w, closed)
		return
	}
	defer end()
	if err := serve(ctx, w, r); err != nil {
		answer(w, err)
	}
}

// Close refuses further requests, cancels the open ones and waits for their ends.
func (g *Group) Close() {
	g.mu.Lock()
	g.closed = true
	for _, cancel := range g.cancels {
		cancel()
	}
	g.mu.Unlock()
	g.requests.Wait()
}
