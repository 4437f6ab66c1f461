package kubeletsim

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/clock/inflight"
	"minikcm.dev/minikcm/kubeletsim/lifecycle"
	"minikcm.dev/minikcm/kubeletsim/podspec"
	"minikcm.dev/minikcm/kubeletsim/script"
	"minikcm.dev/minikcm/kubeletsim/span"
)

// logReader makes the log of one run: it runs the program again, beside the clock,
// and takes down what it writes.
type logReader struct {
	kubelet   *Kubelet
	entry     *podEntry
	container string
	id        string
	opts      *corev1.PodLogOptions

	// ring holds the lines until all have been made that are there already.
	ring []logLine
	live bool
	// partial are lines without an end, by stream.
	partial map[script.Stream]string
	out     *logWriter
	// work counts an action of this reader; nil: none is counted.
	work *inflight.Work
}

type logLine struct {
	at   time.Time
	from script.Stream
	text string
}

// write writes the log to w; if it is to be followed, until the run has ended.
func (l *logReader) write(ctx context.Context, w io.Writer) error {
	defer l.settle()
	now := l.kubelet.opts.Clock.Now()
	l.out = newLogWriter(w, l.opts, now)
	l.partial = map[script.Stream]string{}
	shown := l.entry.see()
	times := l.run(shown)
	if times.Began.IsZero() { // it is not the last run but one any more
		return nil
	}
	p := &script.Process{Began: times.Began, Budget: script.OutputBudget, Settled: settledAt(times, now)}
	p.Write = func(to script.Stream, text string) { l.take(p, to, text) }
	p.Advance = func(took time.Duration) error { return l.until(ctx, span.After(times.Began, took)) }
	err := l.produce(ctx, shown.pod, p)
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
				l.line(logLine{times.Began.Add(p.Took), to, text})
			}
		}
	}
	return errors.Join(err, l.flush(), l.out.err)
}

// settledAt is how much of the run is past already.
func settledAt(times lifecycle.RunTimes, now time.Time) time.Duration {
	if !times.Ended.IsZero() && times.Ended.Before(now) {
		now = times.Ended
	}
	return now.Sub(times.Began)
}

// produce runs what the container runs.
func (l *logReader) produce(ctx context.Context, pod *corev1.Pod, p *script.Process) error {
	for _, ref := range podspec.Containers(pod) {
		if ref.Name != l.container {
			continue
		}
		if told, ok := script.AnnotatedLogOf(pod, ref); ok {
			return told.Run(p)
		}
		if run := l.entry.files.run(l.container, l.id); run != nil {
			return l.replay(ctx, run.tape)
		}
		program := script.ProgramOf(pod, ref.Container)
		program.ID = l.id
		if _, _, ok := program.Predict(); !ok {
			return script.ErrNotPredictable
		}
		_, err := program.Run(p)
		return err
	}
	return script.ErrNotPredictable
}

// run is when the run that is read began and ended.
func (l *logReader) run(shown shownPod) lifecycle.RunTimes {
	times := shown.state.TimesOf(shown.pod, l.container, l.id)
	if times.Ended.IsZero() && shown.gone {
		times.Ended = shown.goneAt
	}
	return times
}

func (l *logReader) ended() bool { return !l.run(l.entry.see()).Ended.IsZero() }

// until returns nil when the run has got as far as at, and errStop if it never will or
// nobody waits for it. The zero time is the end of the run.
func (l *logReader) until(ctx context.Context, at time.Time) error {
	for {
		shown := l.entry.see()
		times := l.run(shown)
		now := l.kubelet.opts.Clock.Now()
		switch {
		case times.Began.IsZero(), !times.Ended.IsZero() && (at.IsZero() || at.After(times.Ended)):
			return script.ErrStopped
		case !at.IsZero() && !at.After(now):
			return nil
		case !l.opts.Follow || l.out.full():
			return script.ErrStopped
		}
		if err := l.flush(); err != nil {
			return err
		}
		l.live = true
		if err := l.wait(ctx, shown.changed, at); err != nil {
			return err
		}
	}
}

// wait returns when the pod has changed or the time has come. What then is written
// belongs to that time: the ledger counts it.
func (l *logReader) wait(ctx context.Context, changed <-chan struct{}, at time.Time) error {
	if at.IsZero() {
		l.settle()
		select {
		case <-changed:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	opts := &l.kubelet.opts
	if l.work == nil { // no time may pass between the two looks at the clock
		l.work = inflight.Begin(opts.Ledger, inflight.Action)
	}
	var due inflight.Latch
	timer := opts.Clock.AfterFunc(at.Sub(opts.Clock.Now()), due.Open)
	defer timer.Stop()
	return due.WaitOr(inflight.With(inflight.Alone(ctx), l.work), changed)
}

func (l *logReader) settle() {
	l.work.End()
	l.work = nil
}

// take divides what the process writes into lines.
func (l *logReader) take(p *script.Process, to script.Stream, text string) {
	text = l.partial[to] + text
	for {
		line, rest, ended := strings.Cut(text, "\n")
		if !ended {
			l.partial[to] = text
			return
		}
		l.line(logLine{p.Began.Add(p.Took), to, line + "\n"})
		text = rest
	}
}

// line holds a line, or passes it on once all that was there has been. Twice as many
// are held as are wanted, so that dropping the others costs little.
func (l *logReader) line(line logLine) {
	if l.live {
		l.out.line(line)
		return
	}
	l.ring = append(l.ring, line)
	if n := l.wanted(); len(l.ring) > 2*n {
		l.ring = slices.Delete(l.ring, 0, len(l.ring)-n)
	}
}

// wanted is how many of the lines that are there are written.
func (l *logReader) wanted() int {
	if n := l.opts.TailLines; n != nil && *n < script.KeepLines {
		return int(*n)
	}
	return script.KeepLines
}

// flush writes the lines that are held.
func (l *logReader) flush() error {
	if n := l.wanted(); len(l.ring) > n {
		l.ring = l.ring[len(l.ring)-n:]
	}
	for _, line := range l.ring {
		l.out.line(line)
	}
	l.ring = nil
	return l.out.flush()
}

// replay passes on what is on the tape; if the log is followed, until the run's end.
func (l *logReader) replay(ctx context.Context, t *tape) error {
	next := 0
	for {
		shown := l.entry.see()
		over := !l.run(shown).Ended.IsZero()
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
