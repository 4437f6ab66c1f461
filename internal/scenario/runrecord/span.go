package runrecord

import (
	"fmt"

	"minikcm.dev/minikcm/clock"
)

// ActiveSpan is a span that has begun. Its methods may be called on nil.
type ActiveSpan struct {
	recorder *Recorder
	at       int
}

// Begin notes that a step, a fault or a check begins, as a part of parent, which may
// be nil. line is its line in the file; 0: it is not in the file.
func (r *Recorder) Begin(parent *ActiveSpan, kind SpanKind, title string, line int) *ActiveSpan {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.run.Spans = append(r.run.Spans, Span{Kind: kind, Title: title, Line: line, Parent: parent.index(), Begin: r.now(), End: -1, BeginRevision: r.seen.newest})
	r.realtime = append(r.realtime, clock.Stopwatch())
	return &ActiveSpan{recorder: r, at: len(r.run.Spans) - 1}
}

func (s *ActiveSpan) index() int {
	if s == nil {
		return -1
	}
	return s.at
}

// Note records something that was done.
func (s *ActiveSpan) Note(format string, args ...any) {
	if s == nil {
		return
	}
	s.recorder.mu.Lock()
	defer s.recorder.mu.Unlock()
	span := &s.recorder.run.Spans[s.at]
	span.Notes = append(span.Notes, Note{At: s.recorder.now(), Revision: s.recorder.seen.newest, Text: fmt.Sprintf(format, args...)})
}

// End notes that it is over; a nil err is success. Only the first call counts.
func (s *ActiveSpan) End(err error) {
	if s == nil {
		return
	}
	s.recorder.mu.Lock()
	defer s.recorder.mu.Unlock()
	span := &s.recorder.run.Spans[s.at]
	if span.End >= 0 {
		return
	}
	span.End, span.Real = s.recorder.now(), s.recorder.realtime[s.at]()
	span.EndRevision = s.recorder.seen.newest
	if err != nil {
		span.Failure = err.Error()
	}
}
