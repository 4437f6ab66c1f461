package kubeletsim

import (
	"context"
	"io"
	"strings"
	"sync"
	"time"
)

// tape keeps the last keepLines lines that a process has written.
type tape struct {
	now func() time.Time

	mu    sync.Mutex
	lines []logLine
	// dropped is how many lines came before these.
	dropped int
	partial map[stream]string
	ended   bool
	// changed, if somebody waits, is closed when there is more.
	changed chan struct{}
}

func newTape(now func() time.Time) *tape {
	return &tape{now: now, partial: map[stream]string{}}
}

// writer takes what is written to one of the streams.
func (t *tape) writer(to stream) io.Writer { return tapeWriter{t, to} }

type tapeWriter struct {
	tape *tape
	to   stream
}

func (w tapeWriter) Write(p []byte) (int, error) {
	t := w.tape
	t.mu.Lock()
	defer t.mu.Unlock()
	text := t.partial[w.to] + string(p)
	for {
		line, rest, ended := strings.Cut(text, "\n")
		if !ended {
			t.partial[w.to] = text
			break
		}
		t.add(logLine{t.now(), w.to, line + "\n"})
		text = rest
	}
	return len(p), nil
}

// add is called with the lock held. Twice as many lines as are wanted are held, so that
// dropping the others costs little.
func (t *tape) add(line logLine) {
	t.lines = append(t.lines, line)
	if n := len(t.lines) - keepLines; n > keepLines {
		t.lines = append([]logLine(nil), t.lines[n:]...)
		t.dropped += n
	}
	t.announce()
}

func (t *tape) announce() {
	if t.changed != nil {
		close(t.changed)
		t.changed = nil
	}
}

// end is the end of the run. A line that was not ended is one all the same.
func (t *tape) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, to := range []stream{"Stdout", "Stderr"} {
		if text := t.partial[to]; text != "" {
			t.partial[to] = ""
			t.add(logLine{t.now(), to, text})
		}
	}
	t.ended = true
	t.announce()
}

// from returns the lines from the given number on, the number of the next, and what is
// closed when there is more; nil when there never will be.
func (t *tape) from(number int) (lines []logLine, next int, more <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	first := max(number-t.dropped, 0)
	if first < len(t.lines) {
		lines = append(lines, t.lines[first:]...)
	}
	next = t.dropped + len(t.lines)
	if t.ended {
		return lines, next, nil
	}
	if t.changed == nil {
		t.changed = make(chan struct{})
	}
	return lines, next, t.changed
}

// replay passes on what is on the tape; if the log is followed, until the run's end.
func (l *logReader) replay(ctx context.Context, t *tape) error {
	next := 0
	for {
		shown := l.entry.see()
		over := !l.run(shown).ended.IsZero()
		var lines []logLine
		var more <-chan struct{}
		lines, next, more = t.from(next)
		for _, line := range lines {
			l.line(line)
		}
		if more == nil || over || !l.opts.Follow || l.out.full() {
			return nil
		}
		if err := l.flush(); err != nil {
			return err
		}
		l.live = true
		l.settle()
		select {
		case <-more:
		case <-shown.changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
