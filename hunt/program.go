package hunt

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/scenarios"
)

const (
	// slice is how much of the cluster's time passes between two looks at a program that should come to rest, and maxSlices bounds
	// the looks.
	slice     = 10 * time.Second
	maxSlices = 15
	// restful is after how many slices without a write an undisturbed program is at rest.
	restful = 3
	// startLimit is how much of the machine's time a program has until its first request.
	startLimit = 30 * time.Second
	// maxExits is how often a program may end by itself in one run.
	maxExits = 4
)

// program is a run of an operator that is a program. It is the scenarios.Driver of its scenario.
type program struct {
	*hunter
	binary      *Binary
	certificate *certificate
	cluster     *minikcm.Cluster
	course      *course
	process     *process
	// attention gets a value when the program has crashed or ended, or the scenario is over.
	attention chan struct{}
	over      atomic.Bool
	exits     int
	seed      uint64
	steps     []Step
	out       *outcome
}

func (r *program) run(ctx context.Context) (err error) {
	scenario, err := r.workload.read(r.steps)
	if err != nil {
		return err
	}
	options, err := scenarios.ClusterOptions(scenario)
	if err != nil {
		return err
	}
	options.Clock = minikcm.ClockOptions{Mode: clock.ModeVirtual, Speed: r.binary.Speed, Start: options.Clock.Start}
	options.Seed, options.Security.Identity, options.API.NoHTTPS = r.seed, r.identity, false // for exec
	for _, change := range r.hunter.cluster {
		change(&options)
	}
	if r.cluster, err = minikcm.Start(ctx, options); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.cluster.Close()) }()
	r.course = newCourse(r.cluster, r.operator.User, r.out.disturbances)
	r.course.outside = true
	r.course.wakes(r.attend)
	defer func() { err = errors.Join(err, r.course.note(r.out)) }()
	if err := r.begin(ctx); err != nil {
		return err
	}
	defer func() { r.process.kill() }()
	result, err := scenarios.Run(ctx, scenario, scenarios.Options{Seed: r.seed, Cluster: r.cluster, Driver: r, Leeway: leeway})
	if err != nil {
		return err
	}
	r.out.record = result.Run
	if result.Failure != nil {
		return result.Failure
	}
	return r.settle(ctx)
}

// after returns a channel that is closed after d of the cluster's time. A timer's own channel would hold time until it is read.
func (r *program) after(d time.Duration) (passed <-chan struct{}, stop func() bool) {
	done := make(chan struct{})
	return done, r.cluster.Clock().AfterFunc(d, func() { close(done) }).Stop
}

// attend makes the run look at the program and the scenario.
func (r *program) attend() {
	select {
	case r.attention <- struct{}{}:
	default: // it will look anyway
	}
}

// Drive implements scenarios.Driver: time passes by itself.
func (r *program) Drive(ctx context.Context) error {
	return r.passUntil(ctx, nil)
}

// Over implements scenarios.Driver.
func (r *program) Over() {
	r.over.Store(true)
	r.attend()
}

// passUntil returns when done is closed or, if it is nil, when the scenario is over. Meanwhile the program is started again when it
// has crashed or ended.
func (r *program) passUntil(ctx context.Context, done <-chan struct{}) error {
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-done:
			return nil
		case <-r.attention:
		}
		if done == nil && r.over.Load() {
			return nil
		}
		r.course.actDue(ctx)
		if err := r.tend(ctx); err != nil {
			return err
		}
	}
}

// tend starts the program again if it has crashed, or has ended by itself.
func (r *program) tend(ctx context.Context) error {
	crashed := r.course.hasCrashed()
	switch {
	case crashed:
	case !r.process.hasEnded():
		return nil
	default:
		r.exits++
		log := r.process.log
		if line := log.panicked(); line != "" {
			return fmt.Errorf("the operator ended with %s.%s", line, log.lines())
		}
		if r.exits > maxExits {
			return fmt.Errorf("the operator has ended %d times (%w).%s", r.exits, exitError(r.process.err), log.lines())
		}
	}
	r.process.kill()
	away, stop := r.after(restartDelay)
	defer stop()
	select {
	case <-away:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return r.begin(ctx)
}

var errExited = errors.New("exit status 0")

func exitError(err error) error {
	if err == nil {
		return errExited
	}
	return err
}

// begin starts the program, and returns when it has made a request.
func (r *program) begin(ctx context.Context) error {
	f, err := newFront(r.cluster, r.course.begins(), r.operator.User, r.certificate)
	if err != nil {
		return err
	}
	p, err := startProcess(ctx, r.binary.Command, f, r.attend)
	if err != nil {
		f.close()
		return err
	}
	r.process = p
	limit := clock.Real().NewTimer(startLimit)
	defer limit.Stop()
	select {
	case <-f.asked:
		return nil
	case <-p.ended:
		err = fmt.Errorf("the operator ended before its first request (%w).%s", exitError(p.err), p.log.lines())
	case <-limit.C():
		err = fmt.Errorf("the operator made no request within %v: does it use the cluster of KUBECONFIG?%s", startLimit, p.log.lines())
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	p.kill()
	return err
}

// settle returns when the program has come to rest: undisturbed, when it has not written for some time; disturbed, when the cluster is as
// undisturbed, or after maxSlices.
func (r *program) settle(ctx context.Context) error {
	quiet := 0
	for range maxSlices {
		before := len(r.course.list())
		passed, stop := r.after(slice)
		err := r.passUntil(ctx, passed)
		stop()
		if err != nil {
			return err
		}
		if r.out.late = len(r.course.list()) - before; r.out.late == 0 {
			quiet++
		} else {
			quiet = 0
		}
		if quiet == 0 || !r.course.isCalm() || r.base == nil && quiet < restful {
			continue
		}
		if err := r.course.capture(ctx, r.out, nil, r.ignore); err != nil {
			return err
		}
		r.course.witness(r.out, r.operator.User, 0) // back-offs are longer than the run
		if r.base == nil || !r.judge(r.out, r.base).bad() {
			return r.course.propose(ctx, r.out)
		}
	}
	if r.base == nil {
		return fmt.Errorf("the operator does not come to rest: it writes after %v, too.%s", maxSlices*slice, r.process.log.lines())
	}
	if err := r.course.capture(ctx, r.out, nil, r.ignore); err != nil {
		return err
	}
	r.course.witness(r.out, r.operator.User, 0)
	return nil
}

// isCalm reports whether no disturbance goes on.
func (c *course) isCalm() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.life.crashed && len(c.life.holding) == 0 && c.undoing == 0
}
