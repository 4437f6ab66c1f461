package loop

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Stage is a stage of the way from an event to the writes that it causes.
type Stage string

// The stages, in their order.
const (
	// Handled: a handler has mapped an event to keys.
	Handled Stage = "handled"
	// Delayed: a key waits for a time before it is queued.
	Delayed Stage = "delayed"
	// Queued: a key waits for a worker. Merged: a key was added that waits already.
	Queued Stage = "queued"
	Merged Stage = "merged"
	// Held: a fault keeps a key back from the queue.
	Held Stage = "held"
	// Began: a worker reconciles a key.
	Began Stage = "began"
	// Planned: the reconcile has decided on a write.
	Planned Stage = "planned"
	// Wrote: the API server has responded to a write.
	Wrote Stage = "wrote"
	// Ended: the reconcile has succeeded, Failed: it has failed.
	Ended  Stage = "ended"
	Failed Stage = "failed"
)

// Step is one step of a loop. Fields that have no meaning for its stage are empty.
type Step struct {
	// Time is the cluster's.
	Time  time.Time `json:"time"`
	Stage Stage     `json:"stage"`
	Key   string    `json:"key,omitempty"`
	// Keys are the keys that an event was mapped to.
	Keys []string `json:"keys,omitempty"`
	// Event is the event that was handled, or Verb the write that was made, for Object.
	Event  string `json:"event,omitempty"`
	Verb   string `json:"verb,omitempty"`
	Object string `json:"object,omitempty"`
	// Revision is the revision of the event's object, or of the written object.
	Revision string `json:"revision,omitempty"`
	// Due is when a delay ends.
	Due *time.Time `json:"due,omitempty"`
	// Causes are the revisions of the events that a reconcile reacts to.
	Causes []int64 `json:"causes,omitempty"`
	// Failures counts the consecutive failures of the key.
	Failures int    `json:"failures,omitempty"`
	Error    string `json:"error,omitempty"`
}

// tracers are the functions that receive steps. While there are none, a step costs the load of
// a pointer.
type tracers struct {
	mu  sync.Mutex
	all []*func(Step)
	// now is all, or nil.
	now atomic.Pointer[[]*func(Step)]
}

func (l *typed[K]) Trace(f func(Step)) (stop func()) {
	t := &l.tracers
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = append(slices.Clone(t.all), &f)
	t.publishLocked()
	return sync.OnceFunc(func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.all = slices.DeleteFunc(slices.Clone(t.all), func(other *func(Step)) bool { return other == &f })
		t.publishLocked()
	})
}

func (t *tracers) publishLocked() {
	if len(t.all) == 0 {
		t.now.Store(nil)
		return
	}
	all := t.all
	t.now.Store(&all)
}

// traced reports whether a step is of interest. Callers ask before they make one.
func (l *typed[K]) traced() bool { return l.tracers.now.Load() != nil }

func (l *typed[K]) trace(s Step) {
	all := l.tracers.now.Load()
	if all == nil {
		return
	}
	s.Time = l.opts.Clock.Now().UTC()
	for _, f := range *all {
		(*f)(s)
	}
}

// traceEvent traces an event that was mapped to keys.
func (l *typed[K]) traceEvent(ev Event, keys []K) {
	s := Step{Stage: Handled, Event: ev.Type.String(), Object: objectText(ev.Object), Revision: ev.Object.GetResourceVersion()}
	for _, key := range keys[:min(len(keys), maxListed)] {
		s.Keys = append(s.Keys, l.keyText(key))
	}
	l.trace(s)
}

// keyText formats a key as kubectl users write it: without a slash if it has no namespace.
func (l *typed[K]) keyText(key K) string { return strings.TrimPrefix(fmt.Sprint(key), "/") }

// objectText returns an object's kind and name.
func objectText(o metav1.Object) string { return kindOf(o) + "/" + o.GetName() }

// kindOf returns an object's kind. Informers deliver typed objects without theirs.
func kindOf(o any) string {
	if known, ok := o.(runtime.Object); ok {
		if kind := known.GetObjectKind().GroupVersionKind().Kind; kind != "" {
			return kind
		}
	}
	text := fmt.Sprintf("%T", o)
	return text[strings.LastIndexByte(text, '.')+1:]
}

type writesKey struct{}

// withWrites returns a context with which TraceWrite traces the writes of a reconcile.
func (l *typed[K]) withWrites(ctx context.Context, key K) context.Context {
	if !l.traced() {
		return ctx
	}
	text := l.keyText(key)
	return context.WithValue(ctx, writesKey{}, func(s Step) {
		s.Key = text
		l.trace(s)
	})
}

// TraceWrite traces a write that the reconcile of a context makes: one with the stage Planned
// before its request, and one with Wrote after the response. It does nothing for other contexts
// and while nothing traces the loop.
func TraceWrite(ctx context.Context, stage Stage, verb string, o metav1.Object, err error) {
	trace, ok := ctx.Value(writesKey{}).(func(Step))
	if !ok {
		return
	}
	s := Step{Stage: stage, Verb: verb, Object: objectText(o)}
	if o.GetName() == "" {
		s.Object += o.GetGenerateName() + "…"
	}
	if stage == Wrote {
		s.Revision = o.GetResourceVersion()
	}
	if err != nil {
		s.Error = err.Error()
	}
	trace(s)
}
