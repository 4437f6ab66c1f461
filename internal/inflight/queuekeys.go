package inflight

import (
	"cmp"
	"slices"
	"sync"

	"k8s.io/client-go/util/workqueue"
)

// keys stores the accepted keys of client-go's work queue. It adds each key to the line under
// the work queue's lock, so that the two are always consistent.
//
//	Add: Push           ticket in line
//	Get: line.Next      the ticket's turn has come; grant notes its entry
//	     Pop            returns the key of the noted entry
//	Done                the entry is removed; Push makes another if the key was added
//	                    meanwhile; then the ticket ends
type keys[K comparable] struct {
	line *Line[*entry[K]]
	name func(K) string

	mu      sync.Mutex
	entries map[K]*entry[K] // that wait or are with a worker
	granted []*entry[K]     // between their Next and their Pop
	queued  int             // how many wait
	pushed  uint64
	drained bool // pushed keys wait for no turn
}

// entry is a key from its Push until its Done.
type entry[K comparable] struct {
	key    K
	ticket *Ticket[*entry[K]]
	number uint64 // of all, in the order of Push
	// taken means that a worker has the key, offered that Offer was called meanwhile.
	taken, offered bool
}

var _ workqueue.Queue[string] = &keys[string]{}

// Touch does nothing: a key that is added again keeps its position.
func (s *keys[K]) Touch(K) {}

func (s *keys[K]) Push(key K) {
	e := &entry[K]{key: key}
	name := "" // of use for turns and steps only
	if s.line.turns || s.line.isHeld() {
		name = s.name(key)
	}
	// The ticket may be granted at once; the worker then waits for the work queue's lock.
	e.ticket = s.line.Join(name, e)
	s.mu.Lock()
	s.pushed++
	e.number = s.pushed
	s.entries[key] = e
	s.queued++
	drained := s.drained
	s.mu.Unlock()
	if drained {
		e.ticket.Hurry()
	}
}

func (s *keys[K]) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queued
}

// Pop returns the granted key. If there is none, the queue is being closed, and any key is right.
func (s *keys[K]) Pop() K {
	e, granted := s.pop()
	if !granted {
		e.ticket.Withdraw()
	}
	return e.key
}

func (s *keys[K]) pop() (e *entry[K], granted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for e == nil && len(s.granted) > 0 {
		if next := s.granted[0]; !next.taken {
			e, granted = next, true
		}
		s.granted = slices.Delete(s.granted, 0, 1)
	}
	if e == nil {
		for _, e = range s.entries {
			if !e.taken {
				break
			}
		}
	}
	e.taken = true
	s.queued--
	return e, granted
}

func (s *keys[K]) grant(e *entry[K]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.granted = append(s.granted, e)
}

// work returns the Work of a key that a worker has.
func (s *keys[K]) work(key K) *Work {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.entries[key].ticket.Work()
}

// forget removes and returns the entry of a key at its Done.
func (s *keys[K]) forget(key K) *entry[K] {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[key]
	delete(s.entries, key)
	return e
}

// offered reports whether the key is neither waiting nor with a worker. If a worker has it, the
// offer is recorded for Done.
func (s *keys[K]) offered(key K) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[key]
	if e == nil {
		return true
	}
	e.offered = e.taken
	return false
}

// waiting returns the first keys that no worker has, in the order of Push, and their number.
func (s *keys[K]) waiting(limit int) (first []K, count int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.untakenLocked()
	for _, e := range all[:min(len(all), limit)] {
		first = append(first, e.key)
	}
	return first, len(all)
}

// isWaiting reports whether no worker has the key yet.
func (s *keys[K]) isWaiting(key K) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[key]
	return e != nil && !e.taken
}

// drain returns the keys that no worker has, in the order of Push.
func (s *keys[K]) drain() []*entry[K] {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drained = true
	return s.untakenLocked()
}

func (s *keys[K]) untakenLocked() []*entry[K] {
	all := make([]*entry[K], 0, s.queued)
	for _, e := range s.entries {
		if !e.taken {
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b *entry[K]) int { return cmp.Compare(a.number, b.number) })
	return all
}
