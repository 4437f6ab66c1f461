package kubeletsim

import (
	"io"
	"strings"
	"sync"
	"time"

	"minikcm.dev/minikcm/kubeletsim/script"
)

// tape keeps the last keepLines lines that a process has written.
type tape struct {
	now func() time.Time

	mu    sync.Mutex
	lines []logLine
	// dropped is how many lines came before these.
	dropped int
	partial map[script.Stream]string
	ended   bool
	// changed, if somebody waits, is closed when there is more.
	changed chan struct{}
}

func newTape(now func() time.Time) *tape {
	return &tape{now: now, partial: map[script.Stream]string{}}
}

// writer takes what is written to one of the streams.
func (t *tape) writer(to script.Stream) io.Writer { return tapeWriter{t, to} }

type tapeWriter struct {
	tape *tape
	to   script.Stream
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
	if n := len(t.lines) - script.KeepLines; n > script.KeepLines {
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
	for _, to := range []script.Stream{"Stdout", "Stderr"} {
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
