package openrequests

import "sync"

// News wakes the open requests that stream something when it changes. The zero value is ready.
// Its methods may be called concurrently.
type News struct {
	mu      sync.Mutex
	changed chan struct{} // nil: nothing waits for it
}

// Wait returns a channel that is closed at the next change.
func (n *News) Wait() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.changed == nil {
		n.changed = make(chan struct{})
	}
	return n.changed
}

// Publish reports a change.
func (n *News) Publish() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.changed != nil {
		close(n.changed)
		n.changed = nil
	}
}
