package main

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/term"

	"minikcm.dev/minikcm/clock"
)

// progressAfter is the duration, of the machine, after which a command shows its progress, and
// progressInterval the time between two changes of it.
const (
	progressAfter    = time.Second
	progressInterval = 200 * time.Millisecond
)

// progressText returns a text about the progress of a command. It gets the elapsed time, and may make requests with the
// context.
type progressText func(ctx context.Context, elapsed time.Duration) string

// showProgress shows the progress of a command on a terminal, in a line that is replaced, from
// progressAfter on until end is called. Other writers get nothing.
func showProgress(ctx context.Context, w io.Writer, text progressText) (end func()) {
	return showProgressSince(ctx, w, clock.Stopwatch(), text)
}

// showProgressSince is showProgress for a part of a command that has started earlier.
func showProgressSince(ctx context.Context, w io.Writer, elapsed func() time.Duration, text progressText) (end func()) {
	if !isTerminal(w) {
		return func() {}
	}
	shown := false
	return repeat(ctx, elapsed, text, func(line string) {
		_, _ = fmt.Fprint(w, rewind+narrowed(line, columnsOf(w)-1))
		shown = true
	}, func() {
		if shown {
			_, _ = fmt.Fprint(w, rewind)
		}
	})
}

// repeat calls show with the text, from progressAfter of the elapsed time on, until end is called, which
// calls hide and returns then.
func repeat(ctx context.Context, elapsed func() time.Duration, text progressText, show func(line string), hide func()) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		defer hide()
		for wait := max(progressAfter-elapsed(), 0); ; wait = progressInterval {
			timer := clock.Real().NewTimer(wait)
			select {
			case <-timer.C():
			case <-ctx.Done():
				timer.Stop()
				return
			}
			if line := text(ctx, elapsed()); ctx.Err() == nil {
				show(line)
			}
		}
	})
	return sync.OnceFunc(func() {
		cancel()
		running.Wait()
	})
}

// starting is the progress of a cluster that starts.
type starting struct {
	doing        string
	ready, nodes atomic.Int64
}

// count is minikcm.Options.Starting.
func (s *starting) count(ready, nodes int) {
	s.ready.Store(int64(ready))
	s.nodes.Store(int64(nodes))
}

func (s *starting) text(_ context.Context, elapsed time.Duration) string {
	if s.ready.Load() == s.nodes.Load() { // it does not wait for nodes
		return fmt.Sprintf("%s (%v)", s.doing, elapsed.Round(time.Second))
	}
	return fmt.Sprintf("%s: %d of %d nodes are ready (%v)", s.doing, s.ready.Load(), s.nodes.Load(), elapsed.Round(time.Second))
}

// doing returns the text of a progress line that only shows the elapsed time.
func doing(what string) progressText {
	return func(_ context.Context, elapsed time.Duration) string {
		return fmt.Sprintf("%s (%v)", what, elapsed.Round(time.Second))
	}
}

// columnsOf returns the width of a terminal; 0 for other writers.
func columnsOf(w io.Writer) int {
	file, ok := w.(interface{ Fd() uintptr })
	if !ok || !isTerminal(w) {
		return 0
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// narrowed shortens a line to a number of characters, unless that is not positive.
func narrowed(line string, most int) string {
	if runes := []rune(line); most > 0 && len(runes) > most {
		return string(runes[:most])
	}
	return line
}
