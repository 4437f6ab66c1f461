package main

import (
	"context"
	"fmt"
	"io"
	"sync"
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

// showProgress shows on a terminal what a command is doing, in a line that is replaced, from
// progressAfter on until end is called. text gets the elapsed time, and may make requests with the
// context. Other writers get nothing.
func showProgress(ctx context.Context, w io.Writer, text func(ctx context.Context, elapsed time.Duration) string) (end func()) {
	if !isTerminal(w) {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		elapsed := clock.Stopwatch()
		wait := progressAfter
		for shown := false; ; shown = true {
			timer := clock.Real().NewTimer(wait)
			select {
			case <-timer.C():
			case <-ctx.Done():
				timer.Stop()
				if shown {
					_, _ = fmt.Fprint(w, rewind)
				}
				return
			}
			if line := text(ctx, elapsed()); ctx.Err() == nil {
				_, _ = fmt.Fprint(w, rewind+narrowed(line, columnsOf(w)-1))
			}
			wait = progressInterval
		}
	})
	return sync.OnceFunc(func() {
		cancel()
		running.Wait()
	})
}

// doing returns the text of a progress line that only shows the elapsed time.
func doing(what string) func(context.Context, time.Duration) string {
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
