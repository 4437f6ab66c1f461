package ctrltest

import (
	"sync"

	"minikcm.dev/minikcm/internal/inflight"
)

// starting counts in the ledger the parts that have started but do not work yet: the manager,
// until its caches have synced and all its runnables are started; and each controller, until
// one of its workers calls Get. Therefore no time passes and no turn is granted before every
// controller has handled the existing objects.
type starting struct {
	mu      sync.Mutex
	started bool
	leading bool
	gates   []*gated
	count   inflight.Tally
	// begun is closed when the count returns to zero for the first time.
	begun  chan struct{}
	closed bool
}

// token is one unit of the count.
type token struct{ counted bool }

// add registers a runnable, which counts from the manager's start on.
func (s *starting) add(g *gated) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gates = append(s.gates, g)
	if s.started {
		s.beginLocked(&g.token)
	}
}

// start counts the manager itself and all registered runnables. It returns false if it was
// called before.
func (s *starting) start(own *token) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started {
		return false
	}
	s.started = true
	s.beginLocked(own)
	for _, g := range s.gates {
		s.beginLocked(&g.token)
	}
	return true
}

// awaitLead stops counting a runnable that waits for the manager to lead, unless the manager
// already leads.
func (s *starting) awaitLead(t *token) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.leading {
		s.endLocked(t)
	}
}

// lead counts the runnables that wait for the manager to lead again.
func (s *starting) lead() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leading = true
	for _, g := range s.gates {
		if g.leads {
			s.beginLocked(&g.token)
		}
	}
}

func (s *starting) begin(t *token) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.beginLocked(t)
}

func (s *starting) beginLocked(t *token) {
	if t.counted {
		return
	}
	t.counted = true
	s.count.Add(1)
}

func (s *starting) end(t *token) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endLocked(t)
}

func (s *starting) endLocked(t *token) {
	if !t.counted {
		return
	}
	t.counted = false
	if s.count.Len() == 1 && !s.closed {
		s.closed = true
		close(s.begun)
	}
	s.count.Add(-1)
}
