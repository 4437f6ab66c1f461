package faultapi

import (
	"context"
	"errors"
	"sync"

	"minikcm.dev/minikcm/scenarios/fault"
)

// Runner runs faults for another part of the same process, such as a scenario. The service of
// the Extension is one.
type Runner interface {
	// Run runs a fault as its method Run does, in the caller's goroutine and environment, and lists
	// it beside faults that requests inject. If two faults break the same thing, it is mended when
	// the last of them is over. Only the caller can end the fault: by the end of ctx, or by the
	// function that was given to env.Defer.
	Run(ctx context.Context, f *fault.Fault, user string, env fault.Env) error
}

// errAdopted refuses to stop a fault that its Runner's caller takes back.
var errAdopted = errors.New("a scenario that runs in the cluster injected it, and takes it back: stop the scenario")

// Run implements Runner.
func (s *service) Run(ctx context.Context, f *fault.Fault, user string, env fault.Env) error {
	r, err := s.adopt(f, user)
	if err != nil {
		return err
	}
	a := &adoption{running: r, parts: 1}
	note := env.Note
	env.Note = func(format string, args ...any) {
		r.note(format, args...)
		if note != nil {
			note(format, args...)
		}
	}
	if later := env.Defer; later != nil {
		env.Defer = func(undo func(context.Context) error) {
			a.begin()
			later(func(ctx context.Context) error {
				err := undo(ctx)
				a.end(err, nil)
				return err
			})
		}
	}
	env.Injected, env.Holds = r.injected, &s.holds
	err = f.Run(ctx, env)
	cause := context.Cause(ctx)
	if err == nil {
		cause = nil
	}
	a.end(err, cause)
	return err
}

// adopt lists a fault that another part of the process runs.
func (s *service) adopt(f *fault.Fault, user string) (*running, error) {
	document, err := documentOf(f)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed
	}
	r := newRunning(s.nextIDLocked(), user, f, document, s.cluster.Clock(), &s.news)
	r.adopted = true
	s.faults = append(s.faults, r)
	s.forgetLocked()
	s.news.Publish()
	return r, nil
}

// adoption counts what of a fault is not over: its run, and each injection that lasts after it.
type adoption struct {
	running *running

	mu         sync.Mutex
	parts      int
	err, cause error
}

func (a *adoption) begin() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.parts++
}

// end records the end of a part. The first error counts.
func (a *adoption) end(err, cause error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err == nil {
		a.err, a.cause = err, cause
	}
	if a.parts--; a.parts == 0 {
		a.running.ended(a.err, a.cause)
	}
}
