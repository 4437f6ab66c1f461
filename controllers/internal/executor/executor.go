package executor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/record"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/controllers/internal/plan"
	"minikcm.dev/minikcm/internal/loop"
)

// defaultParallel suffices to keep a store busy that commits its writes in groups. More than
// requestsAtOnce would wait for each other.
const defaultParallel = requestsAtOnce

// Executor executes plans of owners of one kind. It is safe for concurrent use.
type Executor struct {
	// Kind is the owners' kind, for the owner references of the objects that they own.
	Kind   schema.GroupVersionKind
	Writer Writer
	// Recorder, if not nil, records the Events of plans and actions.
	Recorder record.EventRecorder
	// Tracker, if not nil, is called for each write.
	Tracker Tracker
	// Parallel is the number of concurrent requests of one action; 0: 16.
	Parallel int
}

// Act executes the actions in order. It stops after the first action that fails and returns
// its errors, joined. If there are stale errors and others, it returns only the others;
// errors that are all stale stay marked (IsStale).
func (x *Executor) Act(ctx context.Context, owner plan.Object, actions []plan.Action) error {
	if len(actions) == 0 {
		return nil
	}
	loop.StopAt(ctx, func() loop.Stop { return decided(owner, actions) })
	r := &run{Executor: x, owner: owner, tracker: x.tracker()}
	r.tracker.Begin(owner.GetUID())
	defer r.tracker.End(owner.GetUID())
	for _, action := range actions {
		if err := r.act(ctx, action); err != nil {
			return err
		}
	}
	return nil
}

// decided describes a plan at the stop before it is executed.
func decided(owner plan.Object, actions []plan.Action) loop.Stop {
	s := loop.Stop{Stage: loop.Decided, Object: owner}
	for _, action := range actions {
		act := loop.Act{Verb: string(action.Verb)}
		for _, o := range action.Objects {
			act.Objects = append(act.Objects, o)
		}
		s.Actions = append(s.Actions, act)
	}
	return s
}

// RecordEvents records events about the owner.
func (x *Executor) RecordEvents(owner plan.Object, events []plan.Event) {
	for _, e := range events {
		x.record(owner, &e, owner, "")
	}
}

// WriteStatus stores the owner with its new status. The error is stale if the owner has
// changed or is gone.
func (x *Executor) WriteStatus(ctx context.Context, owner plan.Object) error {
	return x.Act(ctx, owner, []plan.Action{plan.One(plan.UpdateStatus, owner)})
}

func (x *Executor) tracker() Tracker {
	if x.Tracker == nil {
		return noTracker{}
	}
	return x.Tracker
}

func (x *Executor) record(owner plan.Object, e *plan.Event, about plan.Object, detail string) {
	if e == nil || x.Recorder == nil {
		return
	}
	message := e.Message
	if e.Named {
		message = strings.Replace(message, "%s", about.GetName(), 1)
	}
	if e.Detail {
		message += detail
	}
	x.Recorder.Event(owner, e.Type, e.Reason, message)
}

// run is the execution of one plan.
type run struct {
	*Executor
	owner    plan.Object
	tracker  Tracker
	canAdopt func() error
}

func (r *run) act(ctx context.Context, action plan.Action) error {
	if action.Verb == plan.Adopt {
		if err := r.mayAdopt(ctx); err != nil {
			return err
		}
	}
	size := len(action.Objects)
	if action.SlowStart {
		size = 1
	}
	for rest := action.Objects; len(rest) > 0; size *= 2 {
		size = min(size, len(rest))
		if err := r.batch(ctx, action, rest[:size]); err != nil {
			return err
		}
		rest = rest[size:]
	}
	return nil
}

// batch executes the action concurrently for each of the objects, and waits.
func (r *run) batch(ctx context.Context, action plan.Action, objects []plan.Object) error {
	if action.Verb == plan.Delete {
		// Deleting precedes the first request for all objects: the event of the first
		// deletion may arrive before the last request is sent.
		for _, o := range objects {
			r.tracker.Deleting(r.owner.GetUID(), o)
		}
	}
	parallel := min(len(objects), clock.AtOnce(ctx, cmp.Or(r.Parallel, defaultParallel)))
	errs := make([]error, len(objects))
	if parallel == 1 {
		for i, o := range objects {
			errs[i] = r.one(ctx, action, o)
		}
		return join(errs)
	}
	next := make(chan int)
	var workers sync.WaitGroup
	for range parallel {
		workers.Go(func() {
			for i := range next {
				errs[i] = r.one(ctx, action, objects[i])
			}
		})
	}
	for i := range objects {
		next <- i
	}
	close(next)
	workers.Wait()
	return join(errs)
}

// join drops stale errors if there are others, so that the others are not taken for stale.
func join(errs []error) error {
	var hard, soft []error
	for _, err := range errs {
		switch {
		case err == nil:
		case plan.IsStale(err):
			soft = append(soft, err)
		default:
			hard = append(hard, err)
		}
	}
	if len(hard) > 0 {
		return errors.Join(hard...)
	}
	return errors.Join(soft...)
}

func (r *run) one(ctx context.Context, action plan.Action, o plan.Object) error {
	loop.TraceWrite(ctx, loop.Planned, string(action.Verb), o, nil)
	written, err := r.write(ctx, action, o)
	if err != nil || written == nil {
		loop.TraceWrite(ctx, loop.Wrote, string(action.Verb), o, err)
	} else {
		loop.TraceWrite(ctx, loop.Wrote, string(action.Verb), written, nil)
	}
	if err != nil {
		if action.Verb == plan.Delete {
			r.tracker.Kept(r.owner.GetUID(), o)
			if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
				return nil // the object is gone, or another object has its name
			}
		}
		err = &plan.ActionError{Verb: action.Verb, Object: o, Err: stale(err)}
		if !plan.IsStale(err) && !plan.NamespaceGoing(err) {
			r.record(r.owner, action.Failed, o, plan.Message(err))
		}
		return err
	}
	switch {
	case written == nil:
		written = o
	case written.GetResourceVersion() != o.GetResourceVersion():
		// A write that changed nothing makes no event to wait for.
		r.tracker.Written(r.owner.GetUID(), written)
	}
	r.record(r.owner, action.Succeeded, written, written.GetName())
	return nil
}

// write returns the object as it was stored, or nil if there is no event to wait for.
func (r *run) write(ctx context.Context, action plan.Action, o plan.Object) (plan.Object, error) {
	switch action.Verb {
	case plan.Create:
		return r.Writer.Create(ctx, o)
	case plan.Update:
		return r.Writer.Update(ctx, o, "")
	case plan.UpdateStatus:
		return r.Writer.Update(ctx, o, "status")
	case plan.Delete:
		return nil, r.Writer.Delete(ctx, o)
	case plan.Relabel:
		return r.relabel(ctx, o)
	case plan.Adopt:
		return r.adopt(ctx, o, action.Finalizers)
	case plan.Release:
		return nil, r.release(ctx, o, action.Finalizers)
	case plan.Unpin:
		return r.unpin(ctx, o, action)
	default:
		return nil, fmt.Errorf("unknown verb %q", action.Verb)
	}
}
