package logs

import (
	"io"
	"strings"
	"sync"
	"time"

	"minikcm.dev/minikcm/kubeletsim/internal/script"
)

const (
	// maxLine bounds a line, in bytes: a longer one becomes several, as in a container runtime.
	maxLine = 16 << 10
	// maxBytes bounds the lines of one run, in bytes, as a kubelet's containerLogMaxSize.
	maxBytes = 10 << 20
)

// Buffer keeps the last script.KeepLines lines that a process has written.
type Buffer struct {
	now func() time.Time

	mu    sync.Mutex
	lines []Line
	// bytes is the length of the lines' texts.
	bytes int
	// dropped counts the lines before these.
	dropped int
	partial map[script.Stream]string
	ended   bool
	// changed is closed when there are more lines; nil if no reader waits.
	changed chan struct{}
}

func NewBuffer(now func() time.Time) *Buffer {
	return &Buffer{now: now, partial: map[script.Stream]string{}}
}

// Writer returns the writer of one of the streams.
func (t *Buffer) Writer(to script.Stream) io.Writer { return bufferWriter{t, to} }

type bufferWriter struct {
	buffer *Buffer
	to     script.Stream
}

func (w bufferWriter) Write(p []byte) (int, error) {
	t := w.buffer
	t.mu.Lock()
	defer t.mu.Unlock()
	text := t.partial[w.to] + string(p)
	for {
		line, rest, ended := strings.Cut(text, "\n")
		if len(line) > maxLine {
			t.add(Line{At: t.now(), From: w.to, Text: line[:maxLine] + "\n"})
			text = text[maxLine:]
			continue
		}
		if !ended {
			t.partial[w.to] = text
			break
		}
		t.add(Line{At: t.now(), From: w.to, Text: line + "\n"})
		text = rest
	}
	return len(p), nil
}

// add requires the lock. It keeps up to twice as many lines as wanted, so that dropping the
// rest is rare.
func (t *Buffer) add(line Line) {
	t.lines = append(t.lines, line)
	for t.bytes += len(line.Text); t.bytes > maxBytes; t.dropped++ {
		t.bytes -= len(t.lines[0].Text)
		t.lines = t.lines[1:]
	}
	if n := len(t.lines) - script.KeepLines; n > script.KeepLines {
		for _, old := range t.lines[:n] {
			t.bytes -= len(old.Text)
		}
		t.lines = append([]Line(nil), t.lines[n:]...)
		t.dropped += n
	}
	t.announce()
}

func (t *Buffer) announce() {
	if t.changed != nil {
		close(t.changed)
		t.changed = nil
	}
}

// End marks the end of the run. An unterminated line becomes a line.
func (t *Buffer) End() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, to := range []script.Stream{"Stdout", "Stderr"} {
		if text := t.partial[to]; text != "" {
			t.partial[to] = ""
			t.add(Line{At: t.now(), From: to, Text: text})
		}
	}
	t.ended = true
	t.announce()
}

// From returns the lines from the given number on, the number of the next line, and a channel
// that is closed when there are more; nil if the run has ended.
func (t *Buffer) From(number int) (lines []Line, next int, more <-chan struct{}) {
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

// Tail returns the last lines of the output, at most so many lines and bytes.
func (t *Buffer) Tail(lines, bytes int) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	for _, line := range t.lines[max(0, len(t.lines)-lines):] {
		b.WriteString(line.Text)
	}
	b.WriteString(t.partial["Stdout"] + t.partial["Stderr"])
	text := b.String()
	return text[max(0, len(text)-bytes):]
}

type Line struct {
	At   time.Time
	From script.Stream
	Text string
}
