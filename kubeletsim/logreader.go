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
)

// keepLines is how many lines of a run are kept.
const keepLines = 10000

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
	partial map[stream]string
	out     *logWriter
	// work counts an action of this reader; nil: none is counted.
	work *inflight.Work
}

type logLine struct {
	at   time.Time
	from stream
	text string
}

// write writes the log to w; if it is to be followed, until the run has ended.
func (l *logReader) write(ctx context.Context, w io.Writer) error {
	defer l.settle()
	now := l.kubelet.opts.Clock.Now()
	l.out = newLogWriter(w, l.opts, now)
	l.partial = map[stream]string{}
	shown := l.entry.see()
	times := l.run(shown)
	if times.began.IsZero() { // it is not the last run but one any more
		return nil
	}
	p := &process{began: times.began, budget: outputBudget, settled: settledAt(times, now)}
	p.write = func(to stream, text string) { l.take(p, to, text) }
	p.advance = func(took time.Duration) error { return l.until(ctx, after(times.began, took)) }
	err := l.produce(ctx, shown.pod, p)
	if errors.Is(err, errUnknown) || errors.Is(err, errStop) || errors.Is(err, errForever) {
		err = nil
	}
	if err == nil && l.opts.Follow {
		if err = l.until(ctx, time.Time{}); errors.Is(err, errStop) {
			err = nil
		}
	}
	if err == nil && l.ended() {
		for _, to := range []stream{corev1.LogStreamStdout, corev1.LogStreamStderr} {
			if text := l.partial[to]; text != "" {
				l.line(logLine{times.began.Add(p.took), to, text})
			}
		}
	}
	return errors.Join(err, l.flush(), l.out.err)
}

// settledAt is how much of the run is past already.
func settledAt(times loggedTimes, now time.Time) time.Duration {
	if !times.ended.IsZero() && times.ended.Before(now) {
		now = times.ended
	}
	return now.Sub(times.began)
}

// produce runs what the container runs.
func (l *logReader) produce(ctx context.Context, pod *corev1.Pod, p *process) error {
	for _, ref := range containersOf(pod) {
		if ref.Name != l.container {
			continue
		}
		if told, ok := toldOutput(pod, ref); ok {
			return told.run(p)
		}
		if run := l.entry.files.run(l.container, l.id); run != nil {
			return l.replay(ctx, run.tape)
		}
		program := programOf(pod, ref.Container)
		program.id = l.id
		if _, _, ok := program.timing(); !ok {
			return errUnknown
		}
		_, err := program.run(p)
		return err
	}
	return errUnknown
}

// run is when the run that is read began and ended.
func (l *logReader) run(shown shownPod) loggedTimes {
	times := shown.state.timesOf(shown.pod, l.container, l.id)
	if times.ended.IsZero() && shown.gone {
		times.ended = shown.goneAt
	}
	return times
}

func (l *logReader) ended() bool { return !l.run(l.entry.see()).ended.IsZero() }

// until returns nil when the run has got as far as at, and errStop if it never will or
// nobody waits for it. The zero time is the end of the run.
func (l *logReader) until(ctx context.Context, at time.Time) error {
	for {
		shown := l.entry.see()
		times := l.run(shown)
		now := l.kubelet.opts.Clock.Now()
		switch {
		case times.began.IsZero(), !times.ended.IsZero() && (at.IsZero() || at.After(times.ended)):
			return errStop
		case !at.IsZero() && !at.After(now):
			return nil
		case !l.opts.Follow || l.out.full():
			return errStop
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
func (l *logReader) take(p *process, to stream, text string) {
	text = l.partial[to] + text
	for {
		line, rest, ended := strings.Cut(text, "\n")
		if !ended {
			l.partial[to] = text
			return
		}
		l.line(logLine{p.began.Add(p.took), to, line + "\n"})
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
	if n := l.opts.TailLines; n != nil && *n < keepLines {
		return int(*n)
	}
	return keepLines
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
