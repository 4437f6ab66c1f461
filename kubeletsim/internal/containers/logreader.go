package containers

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/internal/podspec"
	"minikcm.dev/minikcm/internal/span"
	"minikcm.dev/minikcm/kubeletsim/internal/lifecycle"
	"minikcm.dev/minikcm/kubeletsim/internal/logs"
	"minikcm.dev/minikcm/kubeletsim/internal/script"
)

// LogReader produces the log of one run. It runs a predictable program again along with the
// clock, or reads the log buffer of a live run.
type LogReader struct {
	runtime   *Runtime
	entry     Pod
	container string
	id        string
	opts      *corev1.PodLogOptions

	// ring holds lines until the present has been reached, so that only the last are written.
	ring []logs.Line
	live bool
	// partial are unterminated lines, by stream.
	partial map[script.Stream]string
	out     *logs.Writer
	// assumed counts the assumptions about the container's image that have been written.
	assumed int
	// work counts the reader in the ledger while it produces output that is due; nil while it
	// waits.
	work *inflight.Work
}

// Log returns a reader of the log of the run with the container ID.
func (rt *Runtime) Log(of Pod, id string, opts *corev1.PodLogOptions) *LogReader {
	return &LogReader{runtime: rt, entry: of, container: opts.Container, id: id, opts: opts}
}

// HasBegun reports whether the run had begun when shown was taken.
func (l *LogReader) HasBegun(shown Shown) bool { return !l.run(shown).Began.IsZero() }

// Write writes the log to w; with Follow, until the run has ended.
func (l *LogReader) Write(ctx context.Context, w io.Writer) error {
	defer l.settle()
	now := l.runtime.opts.Clock.Now()
	l.out = logs.NewWriter(w, l.opts, now)
	l.partial = map[script.Stream]string{}
	shown := l.entry.See()
	times := l.run(shown)
	if times.Began.IsZero() { // it is not the last run but one any more
		return nil
	}
	p := &script.Process{Began: times.Began, Budget: script.OutputBudget, Settled: settledAt(times, now)}
	p.Write = func(to script.Stream, text string) { l.take(p, to, text) }
	p.Advance = func(took time.Duration) error { return l.until(ctx, span.After(times.Began, took)) }
	err := l.produce(ctx, shown.Pod, p)
	if errors.Is(err, script.ErrNotPredictable) || errors.Is(err, script.ErrStopped) || errors.Is(err, script.ErrRunsForever) {
		err = nil
	}
	if err == nil && l.opts.Follow {
		if err = l.until(ctx, time.Time{}); errors.Is(err, script.ErrStopped) {
			err = nil
		}
	}
	if err == nil && l.ended() {
		for _, to := range []script.Stream{corev1.LogStreamStdout, corev1.LogStreamStderr} {
			if text := l.partial[to]; text != "" {
				l.line(logs.Line{At: times.Began.Add(p.Took), From: to, Text: text})
			}
		}
	}
	return errors.Join(err, l.flush(), l.out.Err)
}

// settledAt returns how much of the run has passed.
func settledAt(times lifecycle.RunTimes, now time.Time) time.Duration {
	if !times.Ended.IsZero() && times.Ended.Before(now) {
		now = times.Ended
	}
	return now.Sub(times.Began)
}

// produce runs the container's program, or replays its log buffer.
func (l *LogReader) produce(ctx context.Context, pod *corev1.Pod, p *script.Process) error {
	for _, ref := range podspec.Containers(pod) {
		if ref.Name != l.container {
			continue
		}
		if log, ok := script.AnnotatedLogOf(pod, ref); ok {
			return log.Run(p)
		}
		if run := l.entry.Files().run(l.container, l.id); run != nil {
			if run.silent {
				p.Write(corev1.LogStreamStderr, started(ref.Container))
			}
			return l.replay(ctx, run.log)
		}
		program := script.ProgramOf(pod, ref.Container)
		program.ID = l.id
		if _, _, ok := program.Predict(); !ok {
			if consoleOf(pod, ref.Container, l.id) == nil { // what a client sees of a console is not in the log
				p.Write(corev1.LogStreamStderr, started(ref.Container))
			}
			return script.ErrNotPredictable
		}
		_, err := program.Run(p)
		return err
	}
	return script.ErrNotPredictable
}

// run returns the times of the run that is read.
func (l *LogReader) run(shown Shown) lifecycle.RunTimes {
	times := shown.State.TimesOf(shown.Pod, l.container, l.id)
	if times.Ended.IsZero() && shown.Gone {
		times.Ended = shown.GoneAt
	}
	return times
}

func (l *LogReader) ended() bool { return !l.run(l.entry.See()).Ended.IsZero() }

// until returns nil when the run has reached the time at, or its end for the zero time. It
// returns ErrStopped if the run ends before, or the reader does not follow the log.
func (l *LogReader) until(ctx context.Context, at time.Time) error {
	for {
		shown := l.entry.See()
		times := l.run(shown)
		now := l.runtime.opts.Clock.Now()
		switch {
		case times.Began.IsZero(), !times.Ended.IsZero() && (at.IsZero() || at.After(times.Ended)):
			return script.ErrStopped
		case !at.IsZero() && !at.After(now):
			return nil
		case !l.opts.Follow || l.out.Full():
			return script.ErrStopped
		}
		if err := l.flush(); err != nil {
			return err
		}
		l.live = true
		if err := l.wait(ctx, shown.Changed, at); err != nil {
			return err
		}
	}
}

// wait returns when the pod has changed or the time has come. The output that is due then
// counts in the ledger.
func (l *LogReader) wait(ctx context.Context, changed <-chan struct{}, at time.Time) error {
	if at.IsZero() {
		l.settle()
		select {
		case <-changed:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	opts := &l.runtime.opts
	if l.work == nil { // no time may pass between the two looks at the clock
		l.work = inflight.Begin(opts.Ledger, inflight.Action)
	}
	var due inflight.Latch
	timer := opts.Clock.AfterFunc(at.Sub(opts.Clock.Now()), due.Open)
	defer timer.Stop()
	return due.WaitOr(inflight.With(inflight.Alone(ctx), l.work), changed)
}

func (l *LogReader) settle() {
	l.work.End()
	l.work = nil
}

// take splits output into lines.
func (l *LogReader) take(p *script.Process, to script.Stream, text string) {
	text = l.partial[to] + text
	for {
		line, rest, ended := strings.Cut(text, "\n")
		if !ended {
			l.partial[to] = text
			return
		}
		l.line(logs.Line{At: p.Began.Add(p.Took), From: to, Text: line + "\n"})
		text = rest
	}
}

// line holds a line until the present has been reached, and then passes lines on. It holds up
// to twice as many as wanted, so that dropping the rest is rare.
func (l *LogReader) line(line logs.Line) {
	l.passAssumptions(line.At)
	l.pass(line)
}

// passAssumptions passes on the assumptions that were made until at.
func (l *LogReader) passAssumptions(at time.Time) {
	list := l.entry.Files().assumptionsOf(l.container, l.id)
	if list == nil {
		return
	}
	for _, line := range list.from(l.assumed) {
		if line.At.After(at) {
			return
		}
		l.assumed++
		l.pass(line)
	}
}

func (l *LogReader) pass(line logs.Line) {
	if l.live {
		l.out.Line(line)
		return
	}
	l.ring = append(l.ring, line)
	if n := l.wanted(); len(l.ring) > 2*n {
		l.ring = slices.Delete(l.ring, 0, len(l.ring)-n)
	}
}

// wanted returns the number of past lines to write.
func (l *LogReader) wanted() int {
	if n := l.opts.TailLines; n != nil && *n < script.KeepLines {
		return int(*n)
	}
	return script.KeepLines
}

// flush writes the buffered lines.
func (l *LogReader) flush() error {
	l.passAssumptions(l.runtime.opts.Clock.Now())
	if n := l.wanted(); len(l.ring) > n {
		l.ring = l.ring[len(l.ring)-n:]
	}
	for _, line := range l.ring {
		l.out.Line(line)
	}
	l.ring = nil
	return l.out.Flush()
}

// replay passes on the lines of a log buffer; with Follow, until the run's end.
func (l *LogReader) replay(ctx context.Context, t *logs.Buffer) error {
	next := 0
	for {
		shown := l.entry.See()
		over := !l.run(shown).Ended.IsZero()
		var lines []logs.Line
		var more <-chan struct{}
		lines, next, more = t.From(next)
		for _, line := range lines {
			l.line(line)
		}
		if more == nil || over || !l.opts.Follow || l.out.Full() {
			return nil
		}
		if err := l.flush(); err != nil {
			return err
		}
		l.live = true
		l.settle()
		select {
		case <-more:
		case <-shown.Changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
