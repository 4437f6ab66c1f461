package plan

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
)

// defaultParallel is enough to keep a store busy that commits its writes in groups.
const defaultParallel = 64

// Executor carries out plans of owners of one kind. It is safe for concurrent use.
type Executor struct {
	// Kind of the owners, for the references in what they own.
	Kind   schema.GroupVersionKind
	Writer Writer
	// Recorder reports Events; nil: nobody does.
	Recorder record.EventRecorder
	// Tracker is told of the writes; nil: nobody is.
	Tracker Tracker
	// Parallel is how many requests of one action are under way at once; 0: 64.
	Parallel int
}

// Act takes the actions in their order and returns the first failed one's errors,
// joined. Stale ones are marked (IsStale) if there is no other kind among them.
func (x *Executor) Act(ctx context.Context, owner Object, actions []Action) error {
	if len(actions) == 0 {
		return nil
	}
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

// Tell reports the events about the owner.
func (x *Executor) Tell(owner Object, events []Event) {
	for _, e := range events {
		x.tell(owner, &e, owner, "")
	}
}

// WriteStatus stores the owner with its new status. A conflict or a missing
// object is a stale error.
func (x *Executor) WriteStatus(ctx context.Context, owner Object) error {
	return x.Act(ctx, owner, []Action{One(UpdateStatus, owner)})
}

func (x *Executor) tracker() Tracker {
	if x.Tracker == nil {
		return noTracker{}
	}
	return x.Tracker
}

func (x *Executor) tell(owner Object, e *Event, about Object, detail string) {
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
	owner    Object
	tracker  Tracker
	canAdopt func() error
}

func (r *run) act(ctx context.Context, action Action) error {
	if action.Verb == Adopt {
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

// batch takes the action with each of the objects, concurrently, and waits.
func (r *run) batch(ctx context.Context, action Action, objects []Object) error {
	if action.Verb == Delete {
		// All of them before the first request: the events of the first may come
		// before the last is sent.
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

// join prefers errors that are not stale: those must not be taken for settled.
func join(errs []error) error {
	var hard, soft []error
	for _, err := range errs {
		switch {
		case err == nil:
		case IsStale(err):
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

func (r *run) one(ctx context.Context, action Action, o Object) error {
	written, err := r.write(ctx, action, o)
	if err != nil {
		if action.Verb == Delete {
			r.tracker.Kept(r.owner.GetUID(), o)
			if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
				return nil // it is gone, or another one has its name
			}
		}
		err = &ActionError{Verb: action.Verb, Object: o, Err: stale(err)}
		if !IsStale(err) && !NamespaceGoing(err) {
			r.tell(r.owner, action.Failed, o, Message(err))
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
	r.tell(r.owner, action.Succeeded, written, written.GetName())
	return nil
}

// write returns the object as it was stored, or nil when there is none to wait for.
func (r *run) write(ctx context.Context, action Action, o Object) (Object, error) {
	switch action.Verb {
	case Create:
		return r.Writer.Create(ctx, o)
	case Update:
		return r.Writer.Update(ctx, o, "")
	case UpdateStatus:
		return r.Writer.Update(ctx, o, "status")
	case Delete:
		return nil, r.Writer.Delete(ctx, o)
	case Adopt:
		return r.adopt(ctx, o, action.Finalizers)
	case Release:
		return nil, r.release(ctx, o, action.Finalizers)
	case Unpin:
		return r.unpin(ctx, o, action)
	default:
		return nil, fmt.Errorf("no such verb: %q", action.Verb)
	}
}
