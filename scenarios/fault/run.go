package fault

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/robfig/cron/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"minikcm.dev/minikcm/internal/inflight"
)

// injected takes back what an injection did; nil if nothing has to be taken back.
type injected func(ctx context.Context) error

// errNoMatch is returned if nothing matches. A fault that is injected repeatedly goes on.
var errNoMatch = errors.New("nothing matches")

// Run injects the fault, repeatedly if it says so. It returns when the last injection was
// taken back or, if the fault lasts to the end of the scenario, handed to Defer. If ctx ends
// first, Run takes the injection back and returns the cause of ctx's end.
func (f *Fault) Run(ctx context.Context, env Env) error {
	if err := f.Possible(&env); err != nil {
		return err
	}
	if f.Within > 0 {
		var stop context.CancelFunc
		ctx, stop = inflight.WithTimeoutCause(ctx, env.Clock, time.Duration(f.Within), &lateError{time.Duration(f.Within)})
		defer stop()
	}
	if !f.Repeats() {
		return f.once(ctx, &env)
	}
	begun := env.Clock.Now()
	over := func(at time.Time) bool { return f.During > 0 && at.Sub(begun) > time.Duration(f.During) }
	due := begun
	for n := 0; f.Times == 0 || n < f.Times; n++ {
		at := due
		if due = f.next(due, &env); f.Schedule != "" {
			at = due
		} else if n > 0 {
			at = f.jittered(at, &env)
		}
		if over(at) {
			return nil
		}
		if err := env.sleep(ctx, at.Sub(env.Clock.Now())); err != nil {
			return err
		}
		var undrained *undrainedError
		switch err := f.once(ctx, &env); {
		case errors.Is(err, errNoMatch), errors.As(err, &undrained), Unanswered(err):
			env.note("%v", err)
		case err != nil:
			return err
		}
	}
	return nil
}

// lateError is the cause with which a fault ends that has not come to its end in time.
type lateError struct{ within time.Duration }

func (e *lateError) Error() string { return fmt.Sprintf("not within %v", e.within) }

// Unanswered reports whether err says that the API server failed to handle a request, which
// it does while another fault lasts.
func Unanswered(err error) bool {
	return apierrors.IsInternalError(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsServerTimeout(err) ||
		apierrors.IsTimeout(err) || apierrors.IsTooManyRequests(err)
}

// next returns the time of the injection that follows the one at at.
func (f *Fault) next(at time.Time, env *Env) time.Time {
	if f.Schedule == "" {
		return at.Add(time.Duration(f.Every))
	}
	schedule, err := cron.ParseStandard(f.Schedule)
	if err != nil {
		return at // it was checked
	}
	if now := env.Clock.Now(); now.After(at) {
		at = now // what came while it lasted is left out
	}
	return schedule.Next(at.UTC())
}

func (f *Fault) jittered(at time.Time, env *Env) time.Time {
	if f.Jitter == 0 {
		return at
	}
	share := (2*env.Random.Float64() - 1) * float64(f.Jitter) / 100
	return at.Add(time.Duration(share * float64(f.Every)))
}

// once injects the fault one time, and takes it back after the time that it lasts.
func (f *Fault) once(ctx context.Context, env *Env) error {
	env.drains = nil
	undo, err := f.inject(ctx, env)
	begun := env.Clock.Now() // a clock that jumped has done so
	if err != nil {
		if undo != nil {
			err = errors.Join(err, env.takeBack(ctx, undo))
		}
		return err
	}
	switch {
	case undo == nil:
		env.injected()
		return nil
	case f.For > 0:
		env.injected()
		over := begun.Add(time.Duration(f.For))
		err = env.finishDrains(ctx, over)
		if err == nil && f.endsDrained(env) {
			env.Defer(undo)
			return nil
		}
		if err == nil {
			err = env.sleep(ctx, over.Sub(env.Clock.Now()))
		}
	case env.Defer != nil:
		env.Defer(undo)
		if err = env.finishDrains(ctx, time.Time{}); err == nil {
			env.injected()
		}
		return err
	default:
		if err = env.finishDrains(ctx, time.Time{}); err == nil {
			env.injected()
			err = env.wait(ctx)
		}
	}
	if undone := env.takeBack(ctx, undo); undone != nil {
		return errors.Join(err, fmt.Errorf("taking back %s: %w", f.kind().title(), undone))
	}
	env.note("over: %s", f.kind().title())
	return err
}

// endsDrained reports whether the fault is over when its nodes are drained: one drain in a scenario, to whose
// end the nodes stay cordoned. Others last as long as they say.
func (f *Fault) endsDrained(env *Env) bool {
	return f.Nodes != nil && f.Nodes.Action == NodeDrain && env.Defer != nil && !f.Repeats()
}

// inject breaks what the fault names. With an error it also returns what takes back the
// part that was done.
func (f *Fault) inject(ctx context.Context, env *Env) (injected, error) {
	switch {
	case f.Pods != nil:
		return f.Pods.inject(ctx, env)
	case f.Nodes != nil:
		return f.Nodes.inject(ctx, env)
	case f.Network != nil:
		return f.Network.inject(ctx, env)
	case f.DNS != nil:
		return f.DNS.inject(ctx, env)
	case f.HTTP != nil:
		return f.HTTP.inject(ctx, env)
	case f.APIServer != nil:
		return f.APIServer.inject(ctx, env)
	case f.Etcd != nil:
		return f.Etcd.inject(ctx, env)
	case f.Webhooks != nil:
		return f.Webhooks.inject(ctx, env)
	case f.Controllers != nil:
		return f.Controllers.inject(ctx, env)
	case f.Clock != nil:
		return f.Clock.inject(ctx, env)
	}
	return nil, errors.New("there is nothing to break")
}

// all takes back several injections in reverse order.
func all(undo []injected) injected {
	if len(undo) == 0 {
		return nil
	}
	return func(ctx context.Context) error {
		var errs []error
		for i := len(undo) - 1; i >= 0; i-- {
			errs = append(errs, undo[i](ctx))
		}
		return errors.Join(errs...)
	}
}
