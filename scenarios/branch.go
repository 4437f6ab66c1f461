package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/clock/inflight"
	"minikcm.dev/minikcm/scenarios/check"
	"minikcm.dev/minikcm/scenarios/format"
	"minikcm.dev/minikcm/scenarios/record"
)

// run is a scenario being run.
type run struct {
	*world
	scenario *Scenario
	opts     Options
	begun    time.Time
	recorder *record.Recorder
	monitors *monitors
	// machine is the watchdog's clock; nil is the machine's.
	machine clock.Clock
	// cancel ends what is being done, with the reason.
	cancel     context.CancelCauseFunc
	background sync.WaitGroup

	mu         sync.Mutex
	gates      []*inflight.Gate
	branches   int
	remembered map[string]any
	// deferred take back the faults that last to the end of the steps.
	deferred []func(ctx context.Context) error
	// done are the scenario's own steps so far, and took is the cluster's time that the
	// run has taken, once it is over.
	done []StepResult
	took time.Duration

	telling sync.Mutex
}

// branch is one of the things that a run does side by side. Its gate is where it waits.
// When it has been raised it goes on as soon as it is its turn, which comes before that
// of the cluster's parts: when all that has been done is seen everywhere.
type branch struct {
	*inflight.Gate
	name   string // among the branches of a run
	run    *run
	random *clock.Random
	// span is of the step that it does, and notes are what was done in it.
	span  *record.ActiveSpan
	notes []string
	// quiet says that nothing is told, as there is too much of the same.
	quiet bool
	// background is the title of the background step that it does; empty: it does none.
	background string
	// repeats is the outermost repetition that it is in; nil: none.
	repeats *repetition
}

// branch is a new one, in flight until leave is called.
func (r *run) branch(random *clock.Random) *branch {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.branches++
	name := strconv.Itoa(r.branches)
	b := &branch{Gate: inflight.NewGate(r.ledger, inflight.Action, inflight.First, name), name: name, run: r, random: random}
	r.gates = append(r.gates, b.Gate)
	return b
}

// raiseAll wakes all branches, as what they do has ended.
func (r *run) raiseAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, g := range r.gates {
		g.Raise()
	}
}

// leave ends the branch.
func (b *branch) leave() {
	b.run.mu.Lock()
	for i, g := range b.run.gates {
		if g == b.Gate {
			b.run.gates = append(b.run.gates[:i:i], b.run.gates[i+1:]...)
			break
		}
	}
	b.run.mu.Unlock()
	b.Leave()
}

// raiseLast is Raise at the end of what is done at this instant. expired is called before.
func (b *branch) raiseLast(expired func()) {
	inflight.AtLast(b.run.ledger, inflight.Action, b.name, func() {
		expired()
		b.Raise()
	})
}

// stepped keeps a step of the scenario itself that has ended.
func (r *run) stepped(step StepResult) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done = append(r.done, step)
}

// over keeps how long the run took.
func (r *run) over(took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.took = took
}

// soFar returns what stepped and over have kept. A run that was given up may still be
// going on.
func (r *run) soFar() (steps []StepResult, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.done), r.took
}

func (r *run) tell(what func(Progress)) {
	r.telling.Lock()
	defer r.telling.Unlock()
	if r.opts.Progress != nil {
		what(r.opts.Progress)
	}
}

// note adds to what is told of the step.
func (b *branch) note(text string, args ...any) {
	if b.quiet {
		return
	}
	note := fmt.Sprintf(text, args...)
	b.notes = append(b.notes, note)
	b.span.Note(text, args...)
	if b.background != "" {
		b.run.tell(func(p Progress) { p.BackgroundNote(b.background, note) })
	}
}

// steps does one step after the other; the first that fails ends them.
func (b *branch) steps(ctx context.Context, steps []format.Step) error {
	for i := range steps {
		if err := b.step(ctx, &steps[i]); err != nil {
			return fmt.Errorf("%s: %w", steps[i].Title(), err)
		}
	}
	return nil
}

// step does one step, and tells the record.
func (b *branch) step(ctx context.Context, step *format.Step) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	parent := b.span
	defer func() { b.span = parent }()
	b.run.monitors.end(step.Name)
	if !b.quiet {
		b.span = b.run.recorder.Begin(parent, kindOf(step).span, step.Title(), step.Line)
	}
	if step.Background {
		b.behind(ctx, step)
		return nil
	}
	err := b.do(ctx, step)
	if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(err, cause) {
		err = whyEnded(cause, err)
	}
	b.fail(step, err)
	if !b.quiet {
		b.span.End(err)
	}
	if err == nil {
		err = b.run.monitors.begin(ctx, step.Name)
	}
	return err
}

// whyEnded is why a step was ended, with what it was waiting for if that is known.
func whyEnded(cause, err error) error {
	if check.IsDiffers(err) && !check.IsViolation(cause) {
		return fmt.Errorf("%w: %w", cause, err)
	}
	return cause
}

// behind does a step while the others go on. Its failure ends the run.
func (b *branch) behind(ctx context.Context, step *format.Step) {
	child := b.run.branch(b.random.Fork())
	child.span, child.background = b.span, step.Title()
	b.note("goes on in the background")
	b.run.background.Go(func() {
		defer child.leave()
		err := child.Yield(ctx)
		if err == nil {
			err = child.do(ctx, step)
		}
		if ctx.Err() != nil {
			err = nil // the run has ended, and this with it
		}
		child.fail(step, err)
		child.span.End(err)
		if err != nil {
			b.run.cancel(failedElsewhere{fmt.Errorf("in the background: %s: %w", step.Title(), err)})
			b.run.raiseAll()
		}
	})
}

// failedElsewhere ends a run because of a failure in another branch, which has recorded
// it.
type failedElsewhere struct{ error }

func (f failedElsewhere) Unwrap() error { return f.error }

// fail records the failure of a step, unless the step was ended by one that is recorded
// already: of a background step or an invariant.
func (b *branch) fail(step *format.Step, err error) {
	if err == nil || check.IsViolation(err) || errors.As(err, new(failedElsewhere)) {
		return
	}
	failure := record.Failure{Check: step.Title(), Message: err.Error()}
	about(&failure, err)
	b.run.recorder.Fail(b.span, failure)
}

// about adds what differs, and in which objects.
func about(failure *record.Failure, err error) {
	for _, d := range check.Differences(err) {
		failure.Diff = append(failure.Diff, d.Diff...)
		for _, o := range d.Objects {
			failure.Objects = append(failure.Objects, record.ObjectOf(o))
		}
		for _, r := range d.Reasons {
			for _, o := range r.Objects {
				failure.Reasons = append(failure.Reasons, record.Reasons{Object: record.ObjectOf(o), Report: r.Report})
			}
		}
	}
}

// do does what a step says. While its own requests wait for time to pass, as those to a
// slow etcd do, it is not in flight. A step that holds others leaves that to them.
func (b *branch) do(ctx context.Context, s *format.Step) error {
	k := kindOf(s)
	if !k.nests {
		ctx = inflight.WithPauser(ctx, b.Gate)
	}
	return k.run(b, ctx, s.Value)
}
