package scenarios

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/internal/scenario/faultapi"
	"minikcm.dev/minikcm/internal/scenario/runrecord"
	"minikcm.dev/minikcm/internal/scenario/spec"
	"minikcm.dev/minikcm/scenarios/fault"
)

// Options of a run.
type Options struct {
	// Progress is called with what happens; it may be nil.
	Progress Progress
	// Seed and Clock override the scenario's if they are set.
	Seed  uint64
	Clock string
	// Config reaches an existing cluster: the scenario runs on that in real time, and leaves
	// its objects there. Kubeconfig is the file with this configuration, for scripts.
	Config     *rest.Config
	Kubeconfig string
	// Cluster is a running cluster of this process: the scenario runs on that and on its
	// clock, which moves as it does without the scenario, and leaves its objects there. Config
	// and Kubeconfig must be unset, so that no step runs another program.
	Cluster *minikcm.Cluster
	// Driver lets the time of Cluster pass, and makes it the scenario's own: it was started with
	// ClusterOptions. The scenario must run no other program. If Driver is nil, the clock of
	// Cluster moves by itself.
	Driver Driver
	// Leeway is how much longer, in the cluster's time, checks may take to hold: for a run that is
	// disturbed. A check of one moment waits for so long.
	Leeway time.Duration
	// Rest is how much of the cluster's time the run goes on after its last step, with its invariants.
	Rest time.Duration
	// NoCurves leaves out of the record how much the controllers worked when, which costs a fifth of a short run.
	NoCurves bool
	// Faults runs the faults of a scenario on Cluster; nil: the scenario runs them itself.
	Faults faultapi.Runner
	// Abandon, when closed, also ends the last steps (spec.finally) of a run whose context has
	// ended; nil: they run to their end.
	Abandon <-chan struct{}
	// Namespace takes the place of the namespace default on an existing cluster. A
	// namespace that does not exist is created, and deleted at the end. A shipped scenario
	// gets one of its own unless Overwrite is set.
	Namespace string
	// Overwrite lets a scenario apply objects that exist and that no scenario has made.
	// Otherwise Run returns an OverwriteError.
	Overwrite bool
	// Kubectl is the command that kubectl steps run; empty: kubectl.
	Kubectl []string
	// Example returns the command that runs an example; nil: minikcm example NAME.
	Example func(name string) []string
	// Set are the values that variables were given on the command line.
	Set map[string]string
	// Recording is called with the record when it begins, to watch the run; it may be nil.
	Recording func(*runrecord.Recorder)
	// Present is called before each of the scenario's own steps that has a text to say, and
	// returns when the audience has read it; it may be nil. Virtual time stands still until
	// then; a real or scaled clock runs. An error ends the scenario with that failure. Present
	// has to return soon after ctx ends.
	Present func(ctx context.Context, text string) error
	// Extensions are added to the scenario's own cluster.
	Extensions []minikcm.Extension
	// Logger gets the cluster's log.
	Logger klog.Logger
	// machine is the watchdog's clock; nil: the machine's clock.
	machine clock.Clock
}

// Driver lets the time of a cluster pass while a scenario runs on it.
type Driver interface {
	// Drive returns when Over has been called, or when ctx ends or time cannot pass, with the error.
	Drive(ctx context.Context) error
	// Over is called when the run is over, while its last work is still in flight.
	Over()
}

// finallyTimeout bounds a scenario's last steps, in the cluster's time.
const finallyTimeout = 5 * time.Minute

// Run runs a scenario, on a cluster of its own unless Options.Config is set. A failure of the
// scenario is in the result, also if ctx ended first. An error says that the scenario could
// not be run.
func Run(ctx context.Context, s *Scenario, opts Options) (*Result, error) {
	if opts.Progress == nil {
		opts.Progress = silent{}
	}
	there, err := opts.reach(ctx)
	possible := Possible(s, there.place)
	switch {
	case opts.Driver != nil:
		possible = errors.Join(possible, withoutPrograms(s, errNoProgramsBeside))
	case opts.Cluster != nil:
		possible = PossibleOn(s, opts.Cluster)
	}
	// A scenario that no cluster but its own can run is refused even if there is none.
	if err := errors.Join(err, possible); err != nil {
		return nil, err
	}
	elapsed, processor := clock.Stopwatch(), clock.ProcessorTime()
	opts.Progress.Begin(s)
	w, err := open(ctx, s, opts, there)
	if err != nil {
		return nil, err
	}
	var notes []string
	if there.place != OwnCluster {
		if notes, err = w.settleIn(ctx, s, &opts); err != nil {
			return nil, errors.Join(err, w.close())
		}
	}
	r := &run{world: w, scenario: s, opts: opts, machine: opts.machine, begun: w.clock.Now(), remembered: map[string]any{}}
	for _, note := range notes {
		r.report(func(p Progress) { p.BackgroundNote("cluster", note) })
	}
	r.record(ctx)
	failure := r.drive(ctx, func(ctx context.Context, b *branch) error {
		err := b.scenario(ctx)
		r.over(w.clock.Since(r.begun))
		return err
	})
	r.endPrograms()
	result := r.result(ctx, failure)
	if !errors.As(failure, new(*StalledError)) {
		result.expect(s.Spec.Fails)
	}
	result.Run = r.recorder.Stop(result.verdict())
	if result.Run != nil && result.Expected != nil {
		result.Run.ExpectedFailure = result.Expected.Error()
	}
	if errors.As(failure, new(*StalledError)) {
		w.closeAbandoned()
	} else if err := w.close(); err != nil {
		return nil, err
	}
	result.Real, result.Processor = elapsed(), clock.ProcessorTime()-processor
	opts.Progress.End(result)
	return result, nil
}

// result returns how the run went, whose drive has returned with failure. ctx is the
// caller's.
func (r *run) result(ctx context.Context, failure error) *Result {
	result := &Result{Scenario: r.scenario, Seed: r.seed, Failure: failure}
	result.Steps, result.Cluster = r.soFar()
	var stalled *StalledError
	result.Interrupted = ctx.Err() != nil && errors.Is(failure, context.Cause(ctx)) || errors.As(failure, &stalled) && stalled.Interrupted
	if result.Interrupted {
		result.Failure = fmt.Errorf("%s: %w", r.scenario.Metadata.Name, failure)
	}
	return result
}

func (r *Result) verdict() (runrecord.Verdict, string) {
	switch {
	case r.Interrupted:
		return runrecord.Interrupted, r.Failure.Error()
	case r.Failure != nil:
		return runrecord.Failed, r.Failure.Error()
	}
	return runrecord.Passed, ""
}

// record starts the run record.
func (r *run) record(context.Context) {
	text := r.opts.Clock
	if text == "" {
		text = r.scenario.Spec.Cluster.Clock
	}
	opts := runrecord.Options{NoCurves: r.opts.NoCurves, Scenario: runrecord.Scenario{
		Name: r.scenario.Metadata.Name, Description: r.scenario.Spec.Description, File: r.scenario.File, Seed: r.seed, Clock: text, Set: r.opts.Set,
	}}
	if r.cluster != nil {
		r.recorder = runrecord.Start(r.cluster, opts)
	} else {
		opts.Scenario.Clock = r.clockText
		r.recorder = runrecord.StartElsewhere(r.clock, opts)
	}
	if r.opts.Recording != nil {
		r.opts.Recording(r.recorder)
	}
}

// drive lets time run while do runs, and returns when do and all that it has begun have
// ended.
func (r *run) drive(ctx context.Context, do func(ctx context.Context, b *branch) error) error {
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer context.AfterFunc(ctx, func() { cancel(&interruption{context.Cause(ctx)}) })()
	r.cancel = cancel
	b := r.branch(r.random)
	done := make(chan struct{})
	var outcome error
	go func() {
		// Last, so that nothing more is done when the run is over.
		defer b.leave()
		defer r.world.ended(done)
		outcome = do(own, b)
		cancel(nil)
		r.background.Wait()
		r.monitors.close()
	}()
	// The end of ctx ends what is being done, which ends this, unless it is stuck.
	patience, stop := r.watchdog(ctx)
	defer stop()
	if err := r.world.wait(patience, done); err != nil {
		if r.driver != nil { // which may leave steps that wait
			cancel(err)
			r.raiseAll()
		}
		if cause := context.Cause(patience); cause != nil {
			return cause
		}
		return err
	}
	r.follower.Wait()
	return outcome
}

// interruption is the cause with which a run ends early from outside.
type interruption struct{ cause error }

func (*interruption) Error() string { return "interrupted" }

func (i *interruption) Unwrap() error { return i.cause }

// scenario runs the steps, takes back the faults that last, and runs the last steps.
func (b *branch) scenario(ctx context.Context) error {
	err := errors.Join(b.main(ctx), b.run.endTraffic(), b.run.takeBack(ctx))
	if len(b.run.scenario.Spec.Finally) == 0 {
		return err
	}
	last, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	defer b.limit(finallyTimeout, "the time for the last steps", cancel)()
	defer b.abandoned(cancel)()
	return errors.Join(err, b.top(last, b.run.scenario.Spec.Finally, "finally step"))
}

// errAbandoned ends the last steps of a run that is abandoned.
var errAbandoned = errors.New("the run was abandoned")

// abandoned cancels the last steps when Options.Abandon is closed, until stop is called.
func (b *branch) abandoned(cancel context.CancelCauseFunc) (stop func()) {
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-b.run.opts.Abandon:
			cancel(errAbandoned)
		case <-over:
		}
	}()
	return func() {
		close(over)
		<-ended
	}
}

// main runs the steps while the invariants are watched.
func (b *branch) main(ctx context.Context) error {
	defer b.limit(time.Duration(b.run.scenario.Spec.Timeout), "the scenario's timeout", b.run.cancel)()
	monitors := newMonitors(b.run, b.Gate)
	b.run.monitors = monitors
	defer monitors.stop(ctx)
	if err := monitors.begin(ctx, ""); err != nil {
		return err
	}
	if err := b.top(ctx, b.run.scenario.Spec.Steps, "step"); err != nil {
		return err
	}
	if b.run.opts.Rest > 0 {
		if err := b.sleep(ctx, b.run.opts.Rest); err != nil {
			return err
		}
	}
	if len(b.run.scenario.Spec.Invariants) > 0 { // what the last step leads to counts, too
		if err := b.instant(ctx); err != nil {
			return err
		}
	}
	if err := monitors.settle(ctx); err != nil {
		return err
	}
	monitors.stop(ctx) // which may report a violation
	return context.Cause(ctx)
}

// limit ends a context after so much of the cluster's time. Work of that very instant is
// still in time.
func (b *branch) limit(d time.Duration, what string, cancel context.CancelCauseFunc) (stop func()) {
	var stopped atomic.Bool
	timer := b.run.clock.AfterFunc(d, func() {
		inflight.AtLast(b.run.ledger, inflight.Action, what, func() {
			if stopped.Load() {
				return
			}
			cancel(fmt.Errorf("%s of %v is over", what, d))
			b.run.raiseAll()
		})
	})
	return func() {
		stopped.Store(true)
		timer.Stop()
	}
}

// top runs the scenario's own steps. The first failure ends them.
func (b *branch) top(ctx context.Context, steps []spec.Step, word string) error {
	for i := range steps {
		step := &steps[i]
		if err := b.present(ctx, step); err != nil {
			b.run.recorder.NotReached(spec.Titles(steps[i:])...)
			return err
		}
		b.run.report(func(p Progress) { p.StepBegins(step.Title()) })
		b.number = fmt.Sprintf("%s %d", word, i+1)
		done := b.result(ctx, step)
		b.run.stepped(done)
		b.run.report(func(p Progress) { p.StepEnded(done) })
		if done.Failure != nil {
			b.run.recorder.NotReached(spec.Titles(steps[i+1:])...)
			return fmt.Errorf("%s %d (%s): %w", word, i+1, done.Title, done.Failure)
		}
	}
	return nil
}

func (b *branch) result(ctx context.Context, step *spec.Step) StepResult {
	b.notes, b.title = nil, step.Title()
	begun, elapsed, processor := b.run.clock.Now(), clock.Stopwatch(), clock.ProcessorTime()
	err := b.step(ctx, step)
	return StepResult{
		Title: step.Title(), Background: step.Background, Notes: b.notes, Cluster: b.run.clock.Since(begun), Real: elapsed(),
		Processor: clock.ProcessorTime() - processor, Failure: err,
	}
}

// ClusterOptions returns the options of the cluster that a scenario describes, without a socket and
// prepared for its faults.
func ClusterOptions(s *Scenario) (minikcm.Options, error) {
	options, err := clusterOptions(&s.Spec.Cluster)
	if err == nil {
		err = beginWith(&options, &s.Spec.Cluster)
	}
	if err != nil {
		return options, fmt.Errorf("the cluster of %s: %w", s.Metadata.Name, err)
	}
	options.API.NoHTTPS = true
	fault.Prepare(&options, collect(s, func(k *kind, value any) []*fault.Fault { return k.faults(value) })...)
	return options, nil
}

// startCluster starts the cluster that a scenario describes.
func startCluster(ctx context.Context, s *Scenario, opts Options, kubeconfig string) (*minikcm.Cluster, error) {
	described := *s
	described.Spec.Cluster.Clock = cmp.Or(opts.Clock, s.Spec.Cluster.Clock)
	options, err := ClusterOptions(&described)
	if err != nil {
		return nil, err
	}
	if opts.Seed != 0 {
		options.Seed = opts.Seed
	}
	options.API.NoHTTPS, options.API.KubeconfigPath = kubeconfig == "", kubeconfig
	options.Logger, options.API.Extensions = opts.Logger, opts.Extensions
	cluster, err := minikcm.Start(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("starting the cluster of %s: %w", s.Metadata.Name, err)
	}
	return cluster, nil
}
