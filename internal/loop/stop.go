package loop

import (
	"context"
	"net/http"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/internal/inflight"
)

// The stages at which only a Stop is made.
const (
	// Decided: a reconcile has read its snapshot and decided.
	Decided Stage = "decided"
	// Writes: a reconcile sends a request that writes.
	Writes Stage = "writes"
)

// Stop is the detail of a stop of a controller (inflight.Waiting): while the ledger holds stages, its work waits there for a step. The stages
// are Handled, before the keys are added to the queue, Decided, Writes and Failed, before the retry is scheduled.
type Stop struct {
	Stage      Stage
	Controller string
	// Key is the key that is reconciled; Keys are those that an event was mapped to, with the number of those among them that wait already.
	Key    string
	Keys   []string
	Merged int
	// Event is the event that was handled, and Object its object, or the one that is reconciled.
	Event  EventType
	Object metav1.Object
	// Causes are the revisions of the events that the reconcile reacts to.
	Causes []int64
	// Actions are the writes that the reconcile has decided to make.
	Actions []Act
	// Method and Path are the request that writes. Decision is the stop at which it was decided; nil: the reconcile made none.
	Method, Path string
	Decision     *Stop
	// Failures counts the consecutive failures of the key, with Error.
	Failures int
	Error    error
	// Caches are the informers that the reconcile reads, and Cached is Object as they have it; nil: they do not have it.
	Caches []Cache
	Cached metav1.Object
}

// Act is one write of a decision for each of the objects.
type Act struct {
	Verb    string
	Objects []metav1.Object
}

// Cache is an informer's content, which has all events until Revision, and Objects of that kind that the object in question controls.
type Cache struct {
	Kind       string
	Revision   string
	Controlled []metav1.Object
}

// stopKey is the key of a *stopper in a context.
type stopKey struct{}

// stopper makes the reconcile of a key stop at its stages.
type stopper struct {
	at      func(ctx context.Context, s Stop)
	once    sync.Mutex // one goroutine of the reconcile stops at a time
	stopped bool       // it has stopped at a stage
	decided *Stop
}

// withStops returns a context with which StopAt makes the reconcile of a key stop.
func (l *typed[K]) withStops(ctx context.Context, key K, causes []int64) context.Context {
	if !l.opts.Ledger.StagesPaused() {
		return ctx
	}
	text := l.keyText(key)
	st := &stopper{}
	st.at = func(ctx context.Context, s Stop) {
		s.Controller, s.Key, s.Causes, s.Decision = l.opts.Name, text, causes, st.decided
		s.Caches, s.Cached = l.caches(s.Object)
		if st.stopped = true; s.Stage == Decided {
			st.decided = &s
		}
		l.opts.Ledger.StopAt(ctx, l.kind(), inflight.Waiting{Kind: l.kind(), Name: l.opts.Name, Key: text, Detail: s})
	}
	return context.WithValue(ctx, stopKey{}, st)
}

// stops reports whether the reconcile of a context stops at its stages.
func stops(ctx context.Context) bool { return ctx.Value(stopKey{}) != nil }

// kind is the kind of work that a key counts as.
func (l *typed[K]) kind() inflight.Kind {
	if l.opts.Kind != 0 {
		return l.opts.Kind
	}
	return inflight.Key
}

// StopAt makes the reconcile of a context wait for a step at a stage, if the ledger held stages when it began. make is called only
// then.
func StopAt(ctx context.Context, make func() Stop) {
	s, ok := ctx.Value(stopKey{}).(*stopper)
	if !ok {
		return
	}
	s.once.Lock()
	defer s.once.Unlock()
	s.at(ctx, make())
}

// stopHandler makes the handler of an event wait for a step, before it adds the keys.
func (l *typed[K]) stopHandler(source inflight.Source, ev Event, keys []K) {
	if source == nil || !l.opts.Ledger.StagesPaused() {
		return
	}
	s := Stop{Stage: Handled, Controller: l.opts.Name, Event: ev.Type, Object: ev.Object}
	for _, key := range keys[:min(len(keys), maxListed)] {
		s.Keys = append(s.Keys, l.keyText(key))
		if l.queue.IsWaiting(key) {
			s.Merged++
		}
	}
	source.StopHandler(ev.Object, inflight.Waiting{Kind: inflight.Event, Name: l.opts.Name, Key: s.Keys[0], Detail: s})
}

// stopUnchanged makes a reconcile that has written nothing wait for a step, with the object of its key.
func (l *typed[K]) stopUnchanged(ctx context.Context, key K) {
	if s, ok := ctx.Value(stopKey{}).(*stopper); !ok || s.stopped {
		return
	}
	stop := Stop{Stage: Decided}
	for _, w := range l.watches {
		if o, ok, err := w.informer.GetIndexer().GetByKey(l.keyText(key)); ok && err == nil {
			stop.Object, _ = o.(metav1.Object)
			break
		}
	}
	StopAt(ctx, func() Stop { return stop })
}

// stopFailed makes a reconcile that has failed wait for a step.
func (l *typed[K]) stopFailed(ctx context.Context, failures int, err error) {
	StopAt(ctx, func() Stop { return Stop{Stage: Failed, Failures: failures, Error: err} })
}

// caches returns what a reconcile reads, with the objects that o controls, and o as it is there; o may be nil.
func (l *typed[K]) caches(o metav1.Object) (all []Cache, cached metav1.Object) {
	for _, w := range l.watches {
		c := Cache{Kind: w.kind(), Revision: w.informer.LastSyncResourceVersion()}
		if o != nil {
			for _, one := range w.informer.GetIndexer().List() {
				switch other, ok := one.(metav1.Object); {
				case !ok:
				case other.GetUID() == o.GetUID():
					cached = other
				case metav1.IsControlledBy(other, o):
					c.Controlled = append(c.Controlled, other)
				}
			}
		}
		all = append(all, c)
	}
	return all, cached
}

// StopWrites returns a transport that makes a reconcile stop before each request that writes.
func StopWrites(next http.RoundTripper) http.RoundTripper { return stopWrites{next} }

type stopWrites struct{ next http.RoundTripper }

func (t stopWrites) RoundTrip(req *http.Request) (*http.Response, error) {
	switch req.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
		StopAt(req.Context(), func() Stop { return Stop{Stage: Writes, Method: req.Method, Path: req.URL.Path} })
	}
	return t.next.RoundTrip(req)
}

// WrappedRoundTripper lets client-go find the transport beneath.
func (t stopWrites) WrappedRoundTripper() http.RoundTripper { return t.next }
