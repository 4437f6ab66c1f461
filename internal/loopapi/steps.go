package loopapi

import (
	"sync"

	"minikcm.dev/minikcm/internal/loop"
)

// maxSteps caps the steps of one line.
const maxSteps = 500

// steps collects the steps for the next line.
type steps struct {
	// some receives a value when there are some.
	some chan struct{}

	mu        sync.Mutex
	kept      []loop.Step
	forgotten int
}

func newSteps() *steps { return &steps{some: make(chan struct{}, 1)} }

// add keeps a step. It does not block.
func (s *steps) add(step loop.Step) {
	s.mu.Lock()
	if len(s.kept) == maxSteps {
		half := maxSteps / 2
		s.kept = append(s.kept[:0], s.kept[half:]...)
		s.forgotten += half
	}
	s.kept = append(s.kept, step)
	s.mu.Unlock()
	select {
	case s.some <- struct{}{}:
	default: // there are some already
	}
}

// take returns the kept steps, and forgets them.
func (s *steps) take() (kept []loop.Step, forgotten int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept, forgotten = s.kept, s.forgotten
	s.kept, s.forgotten = nil, 0
	return kept, forgotten
}
