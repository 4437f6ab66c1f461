package faults

import (
	"context"
	"errors"
	"strconv"

	"minikcm.dev/minikcm/internal/inflight"
)

// ErrDropped is the cause with which DropWatches ends a context.
var ErrDropped = errors.New("the watch was dropped")

// stream is an open watch.
type stream struct {
	request Request
	cancel  context.CancelCauseFunc
	dropped *inflight.Work // in flight from DropWatches until the watch has ended
}

// Watching returns a context for a watch, which DropWatches can end. The caller calls
// the function when the watch has ended.
func (f *Faults) Watching(ctx context.Context, r *Request) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	s := &stream{request: *r, cancel: cancel}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.streams[s] = struct{}{}
	return ctx, func() {
		cancel(nil)
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.streams, s)
		s.dropped.End()
	}
}

// DropWatches ends the open watches that match, or a share of them, and returns their
// number.
func (f *Faults) DropWatches(match Match, share float64) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	dropped := 0
	f.drops++
	chances := f.random.Keyed(strconv.FormatUint(f.drops, 10))
	for s := range f.streams {
		exempt := false
		for _, user := range f.exempt {
			exempt = exempt || user == s.request.User
		}
		if !exempt && match.Matches(&s.request) && (share <= 0 || chances.Keyed(s.request.UserAgent+" "+s.request.Resource).Float64() < share) {
			if s.dropped == nil {
				s.dropped = inflight.Begin(f.ledger, inflight.Event)
			}
			s.cancel(ErrDropped)
			dropped++
		}
	}
	return dropped
}
