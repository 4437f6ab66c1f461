package scenarios

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/restmapper"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
)

// Options of a run.
type Options struct {
	// Progress is told what happens; nil: nobody is.
	Progress Progress
	// Seed and Clock override the scenario's if they are set.
	Seed  uint64
	Clock string
	// Logger gets what the cluster logs.
	Logger klog.Logger
}

// Progress is told of a run as it goes on, by one goroutine.
type Progress interface {
	// Begin is told what is run, before its cluster starts.
	Begin(s *Scenario)
	// Step begins, and has ended. Notes are what was done in it.
	StepBegins(title string)
	StepEnded(step StepResult)
	End(result *Result)
}

// Result is how a run went.
type Result struct {
	Scenario *Scenario
	Seed     uint64
	Steps    []StepResult
	// Cluster and Real are how much time passed in the cluster and on the machine,
	// the cluster's start included in the latter.
	Cluster, Real time.Duration
	// Failure is why the scenario failed; nil: it passed.
	Failure error
}

// StepResult is how a step went.
type StepResult struct {
	Title string
	Notes []string
	// Cluster and Real are how long it took.
	Cluster, Real time.Duration
	Failure       error
}

// run is a scenario being run.
type run struct {
	scenario *Scenario
	cluster  *minikcm.Cluster
	dynamic  dynamic.Interface
	mapper   meta.RESTMapper
	random   *clock.Random
	notes    []string
}

// Run runs a scenario on a cluster of its own. What the scenario found wrong is in
// the result; an error says that it could not be run.
func Run(ctx context.Context, s *Scenario, opts Options) (*Result, error) {
	if opts.Progress == nil {
		opts.Progress = silent{}
	}
	elapsed := clock.Stopwatch()
	options, err := s.clusterOptions(opts)
	if err != nil {
		return nil, err
	}
	opts.Progress.Begin(s)
	cluster, err := minikcm.Start(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("starting the cluster of %s: %w", s.Metadata.Name, err)
	}
	r := &run{scenario: s, cluster: cluster, random: clock.NewRandom(cluster.Seed()).Fork()}
	result := &Result{Scenario: s, Seed: cluster.Seed()}
	begun := cluster.Clock().Now()
	err = r.connect()
	if err == nil {
		result.Failure = r.steps(ctx, result, opts.Progress)
	}
	result.Cluster, result.Real = cluster.Clock().Since(begun), elapsed()
	if err := errors.Join(err, cluster.Close()); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("%s was interrupted: %w", s.Metadata.Name, ctx.Err())
	}
	opts.Progress.End(result)
	return result, nil
}

func (s *Scenario) clusterOptions(opts Options) (minikcm.Options, error) {
	spec := s.Spec.Cluster
	options := minikcm.Options{Nodes: *spec.Nodes, NoHTTPS: true, Seed: spec.Seed, Controllers: spec.Controllers, Logger: opts.Logger}
	if *spec.Nodes == 0 {
		options.Nodes = -1
	}
	if opts.Seed != 0 {
		options.Seed = opts.Seed
	}
	if options.Seed == 0 {
		options.Seed = 1
	}
	var err error
	if options.ClockMode, options.ClockFactor, err = clock.ParseMode(cmp.Or(opts.Clock, spec.Clock)); err != nil {
		return options, fmt.Errorf("clock: %w", err)
	}
	return options, nil
}

func (r *run) connect() error {
	config := r.cluster.ConfigFor("minikcm:scenario", "system:masters")
	config.ContentType, config.AcceptContentTypes = "application/json", "application/json"
	config.UserAgent = "minikcm-scenario"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making the scenario's client: %w", err)
	}
	if r.dynamic, err = dynamic.NewForConfig(config); err != nil {
		return fmt.Errorf("making the scenario's client: %w", err)
	}
	discovery := memory.NewMemCacheClient(client.Discovery())
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(discovery)
	r.mapper = restmapper.NewShortcutExpander(mapper, discovery, func(string) {})
	return nil
}

// steps runs all steps; the first failure ends the run.
func (r *run) steps(ctx context.Context, result *Result, progress Progress) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	limit := time.Duration(r.scenario.Spec.Timeout)
	timer := r.cluster.Clock().AfterFunc(limit, func() {
		cancel(fmt.Errorf("the scenario's timeout of %v is over", limit))
	})
	defer timer.Stop()
	for i := range r.scenario.Spec.Steps {
		step := &r.scenario.Spec.Steps[i]
		progress.StepBegins(step.title())
		done := r.step(ctx, step)
		result.Steps = append(result.Steps, done)
		progress.StepEnded(done)
		if done.Failure != nil {
			return fmt.Errorf("step %d (%s): %w", i+1, done.Title, done.Failure)
		}
	}
	return nil
}

func (r *run) step(ctx context.Context, step *Step) StepResult {
	r.notes = nil
	begun, elapsed := r.cluster.Clock().Now(), clock.Stopwatch()
	err := step.action().run(ctx, r)
	if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(err, cause) {
		err = cause
	}
	return StepResult{Title: step.title(), Notes: r.notes, Cluster: r.cluster.Clock().Since(begun), Real: elapsed(), Failure: err}
}

// note adds to what is told of the step.
func (r *run) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

// action is what a step does.
type action interface {
	title() string
	run(ctx context.Context, r *run) error
}

func (s *Step) action() action {
	switch {
	case s.Apply != nil:
		return s.Apply
	case s.Wait != nil:
		return s.Wait
	case s.Kill != nil:
		return s.Kill
	}
	return s.Expect
}

func (s *Step) title() string {
	if s.Name != "" {
		return s.Name
	}
	return s.action().title()
}

// Text is the report's last line: PASS or FAIL, with what to type to see it again.
func (r *Result) Text() string {
	var b strings.Builder
	word := "PASS"
	if r.Failure != nil {
		word = "FAIL"
	}
	fmt.Fprintf(&b, "%s %s in %v (%v of the cluster's time, seed %s)", word, r.Scenario.Metadata.Name,
		r.Real.Round(time.Millisecond), r.Cluster.Round(time.Millisecond), strconv.FormatUint(r.Seed, 10))
	return b.String()
}

// silent is a Progress that says nothing.
type silent struct{}

func (silent) Begin(*Scenario)      {}
func (silent) StepBegins(string)    {}
func (silent) StepEnded(StepResult) {}
func (silent) End(*Result)          {}
