package hunt

import (
	"io"
	"sync"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/inflight"
)

// stream is the body of a watch, whose events can be held back. Until that, it reads from the API server when its reader does.
// Once it holds, a goroutine of its own (pump) reads on, so that the API server is not kept waiting and counts nothing as in
// flight:
//
//	the API server       the stream                        its reader              the ledger counts
//	writes event 7       Read: holds, keeps it, pumps on   waits                   event 7, until pump reads again
//	writes event 8       pump keeps it                     waits                   event 8, until pump reads again
//	                     release begins the work           is woken                the work
//	                                                       gets 7 and 8, counts    the work, the frames
//	                                                       reads again             the frames
type stream struct {
	inner  io.ReadCloser
	ledger *clock.Ledger

	mu      sync.Mutex
	changed *sync.Cond
	holding bool
	// expired ends the stream with its release, without the events that it holds.
	expired bool
	pumped  bool
	closed  bool
	kept    []byte
	err     error          // of inner, after kept
	work    *inflight.Work // what a reader gets, until it reads again
}

func newStream(inner io.ReadCloser, ledger *clock.Ledger, holding bool) *stream {
	s := &stream{inner: inner, ledger: ledger, holding: holding}
	s.changed = sync.NewCond(&s.mu)
	return s
}

const readSize = 32 << 10

// Read returns what the API server has sent, unless the stream holds it back.
func (s *stream) Read(p []byte) (int, error) {
	s.mu.Lock()
	s.endWorkLocked()
	if !s.pumped {
		s.mu.Unlock()
		n, err := s.inner.Read(p)
		s.mu.Lock()
		if s.expired {
			s.mu.Unlock()
			return 0, io.EOF
		}
		if !s.holding {
			s.mu.Unlock()
			return n, err
		}
		s.kept, s.err, s.pumped = append(s.kept, p[:n]...), err, true
		if err == nil {
			go s.pump()
		}
	}
	defer s.mu.Unlock()
	for !s.closed && !s.expired && s.err == nil && (s.holding || len(s.kept) == 0) {
		s.changed.Wait()
	}
	switch {
	case s.closed:
		return 0, io.ErrClosedPipe
	case s.expired:
		return 0, io.EOF
	case s.holding: // the watch has broken
		return 0, s.err
	case len(s.kept) > 0:
		n := copy(p, s.kept)
		s.kept = s.kept[n:]
		return n, nil
	}
	return 0, s.err
}

func (s *stream) pump() {
	buf := make([]byte, readSize)
	for {
		n, err := s.inner.Read(buf)
		s.mu.Lock()
		s.kept, s.err = append(s.kept, buf[:n]...), err
		if !s.holding && !s.closed && !s.expired {
			s.beginWorkLocked()
		}
		s.changed.Broadcast()
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// hold holds back what comes from now on.
func (s *stream) hold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holding = true
}

// release gives the reader what was held back, or ends the stream without it. It reports whether anything was.
func (s *stream) release(expired bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.holding || s.closed {
		return false
	}
	s.holding = false
	if !s.pumped {
		return false
	}
	s.expired = expired
	if expired || len(s.kept) > 0 || s.err != nil {
		s.beginWorkLocked()
	}
	s.changed.Broadcast()
	return true
}

// expire ends the stream without what has come since its last read. It reports whether the stream was open.
func (s *stream) expire() bool {
	s.mu.Lock()
	if s.closed || s.expired {
		s.mu.Unlock()
		return false
	}
	s.holding, s.expired = false, true
	s.beginWorkLocked()
	s.changed.Broadcast()
	s.mu.Unlock()
	_ = s.inner.Close() // wakes a reader that waits in it
	return true
}

func (s *stream) beginWorkLocked() {
	if s.work == nil {
		s.work = inflight.Begin(s.ledger, inflight.Event)
	}
}

func (s *stream) endWorkLocked() {
	if len(s.kept) == 0 || s.expired {
		s.work.End()
		s.work = nil
	}
}

// Close ends the stream.
func (s *stream) Close() error {
	s.mu.Lock()
	s.closed = true
	s.work.End()
	s.work = nil
	s.changed.Broadcast()
	s.mu.Unlock()
	return s.inner.Close()
}
