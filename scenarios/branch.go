package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/internal/scenario/check"
	"minikcm.dev/minikcm/internal/scenario/runrecord"
	"minikcm.dev/minikcm/internal/scenario/sending"
	"minikcm.dev/minikcm/internal/scenario/spec"
)

// run is a scenario being run.
type run struct {
	*world
	scenario *Scenario
	opts     Options
	begun    time.Time
	recorder *runrecord.Recorder
	monitors *monitors
	// machine is the watchdog's clock; nil is the machine's.
	machine clock.Clock
	// cancel ends what is being done, with the reason.
	cancel     context.CancelCauseFunc
	background sync.WaitGroup
	// presenting is set while the audience reads, when no progress is expected.
	presenting atomic.Bool

	mu         sync.Mutex
	gates      []*inflight.Gate
	branches   int
	remembered map[string]any
	// sending is the traffic.
	sending sending.Sending
	// deferred take back the faults that last to the end of the steps.
	deferred []func(ctx context.Context) error
	// done are the scenario's own steps so far, and took is the cluster's time that the
	// run has taken, once it is over.
	done []StepResult
	took time.Duration
	// outputs holds the output of each background program, by the name of its step.
	outputs map[string]*output
	// leftBehind are the process groups of programs that ended before their children.
	leftBehind []int

	reporting sync.Mutex
}

// branch is one of the sequences of steps that a run does in parallel. It waits at its gate.
// When the gate is raised, the branch goes on at its turn, which comes before the turns of
// the cluster's parts, once all watches show what has been done.
type branch struct {
	*inflight.Gate
	name   string // among the branches of a run
	run    *run
	random *clock.Random
	// span is the record of the present step, and notes say what was done in it.
	span  *runrecord.ActiveSpan
	notes []string
	// quiet says that steps are neither recorded nor reported, since they repeat too often.
	quiet bool
	// background is the title of the background step that the branch runs; empty if it runs none.
	background string
	// title and number ("step 4") identify the scenario's own step that the branch runs.
	title, number string
	// repeats is the outermost repetition around the present step; nil if there is none.
	repeats *repetition
}

// branch returns a new branch, which is in flight until leave is called.
func (r *run) branch(random *clock.Random) *branch {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.branches++
	name := strconv.Itoa(r.branches)
	b := &branch{Gate: inflight.NewGate(r.ledger, inflight.Action, inflight.First, name), name: name, run: r, random: random}
	r.gates = append(r.gates, b.Gate)
	return b
}

// raiseAll wakes all branches to see that their context has ended.
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

// raiseLast calls expired and then Raise when all other work of this instant is done.
func (b *branch) raiseLast(expired func()) {
	inflight.AtLast(b.run.ledger, inflight.Action, b.name, func() {
		expired()
		b.Raise()
	})
}

// settled waits until all other work of this instant is done.
func (b *branch) settled(ctx context.Context) error {
	if !b.TakesTurns() {
		return context.Cause(ctx)
	}
	b.raiseLast(func() {})
	return b.Wait(ctx)
}

// stepped keeps the result of one of the scenario's own steps.
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

// soFar returns what stepped and over have kept. A run that was given up may still go on.
func (r *run) soFar() (steps []StepResult, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.done), r.took
}

// report calls what with the run's Progress, if it has one. No two calls overlap.
func (r *run) report(what func(Progress)) {
	r.reporting.Lock()
	defer r.reporting.Unlock()
	if r.opts.Progress != nil {
		what(r.opts.Progress)
	}
}

// reportChecks calls what with the run's Progress, if that shows checks.
func (r *run) reportChecks(what func(CheckProgress)) {
	r.report(func(p Progress) {
		if checks, ok := p.(CheckProgress); ok {
			what(checks)
		}
	})
}

// note adds a note to the step.
func (b *branch) note(text string, args ...any) {
	if b.quiet {
		return
	}
	note := fmt.Sprintf(text, args...)
	b.notes = append(b.notes, note)
	b.span.Note(text, args...)
	if b.background != "" {
		b.run.report(func(p Progress) { p.BackgroundNote(b.background, note) })
	}
}

// steps does one step after the other; the first that fails ends them.
func (b *branch) steps(ctx context.Context, steps []spec.Step) error {
	for i := range steps {
		if err := b.step(ctx, &steps[i]); err != nil {
			return fmt.Errorf("%s: %w", steps[i].Title(), err)
		}
	}
	return nil
}

// step does one step, and records it.
func (b *branch) step(ctx context.Context, step *spec.Step) error {
	parent := b.span
	defer func() { b.span = parent }()
	if !b.quiet {
		b.span = b.run.recorder.Begin(parent, kindOf(step).span, step.Title(), step.Line)
	}
	if err := context.Cause(ctx); err != nil {
		if !b.quiet {
			b.span.End(err)
		}
		return err
	}
	b.run.monitors.end(ctx, step.Name)
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

// whyEnded returns why a step was ended, with what it was waiting for if that is known.
func whyEnded(cause, err error) error {
	if check.IsDiffers(err) && !check.IsViolation(cause) {
		return fmt.Errorf("%w: %w", cause, err)
	}
	return cause
}

// behind does a step in the background. Its failure ends the run.
func (b *branch) behind(ctx context.Context, step *spec.Step) {
	child := b.run.branch(b.random.Fork())
	child.span, child.background, child.number = b.span, step.Title(), b.number
	if step.Name == "" {
		b.note("goes on in the background")
	} else { // the title does not say what it does
		b.note("%s goes on in the background", step.Kind.Title(step.Value))
	}
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
		b.run.reportChecks(func(p CheckProgress) { p.BackgroundEnded(child.background, err) })
		if err != nil {
			b.run.cancel(failedElsewhere{fmt.Errorf("in the background: %s: %w", step.Title(), err)})
			b.run.raiseAll()
		}
	})
}

// failedElsewhere is the cause with which a failure in another branch ends a run. That branch
// has recorded it.
type failedElsewhere struct{ error }

func (f failedElsewhere) Unwrap() error { return f.error }

// fail records the failure of a step, unless the failure of a background step or of an
// invariant ended the step, which is recorded already.
func (b *branch) fail(step *spec.Step, err error) {
	if err == nil || check.IsViolation(err) || errors.As(err, new(failedElsewhere)) {
		return
	}
	failure := runrecord.Failure{Check: step.Title(), Message: err.Error()}
	about(&failure, err)
	b.run.recorder.Fail(b.span, failure)
}

// about adds what differs in which objects to a failure.
func about(failure *runrecord.Failure, err error) {
	for _, d := range check.Differences(err) {
		failure.Diff = append(failure.Diff, d.Diff...)
		for _, o := range d.Objects {
			failure.Objects = append(failure.Objects, runrecord.ObjectOf(o))
		}
		for _, r := range d.Reasons {
			for _, o := range r.Objects {
				failure.Reasons = append(failure.Reasons, runrecord.Reasons{Object: runrecord.ObjectOf(o), Report: r.Report})
			}
		}
	}
}

// do runs a step. While its own requests wait for time to pass, as with a slow etcd, it is not in
// flight. A step that contains others leaves that to them.
func (b *branch) do(ctx context.Context, s *spec.Step) error {
	k := kindOf(s)
	if !k.nests {
		ctx = inflight.WithPauser(ctx, b.Gate)
	}
	return k.run(b, ctx, s.Value)
}
