package modeltest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/controllers/internal/plan"
	"minikcm.dev/minikcm/internal/loop"
)

// Setup builds a reconciler that reads the caches of an actor (Watch) and writes through
// its Writer, and sets which keys its events enqueue (OnEvent). It is called again after
// each crash.
type Setup func(a *Actor) (loop.Reconciler, error)

// Actor is one reconciler with its own caches, which lag behind the world.
type Actor struct {
	Name  string
	world *World
	setup Setup

	reconciler loop.Reconciler
	views      []*view
	queue      []types.NamespacedName
	timers     map[types.NamespacedName]time.Time
	// failing holds the keys whose last reconcile failed. They are in the queue again.
	failing map[types.NamespacedName]error

	// writes is the number of writes left before the actor crashes; negative: it does not
	// crash.
	writes  int
	crashed bool
	busy    bool
	// between is called before each write of the actor.
	between func()
}

// view is an actor's cache of one kind.
type view struct {
	kind    string
	indexer cache.Indexer
	wake    func(loop.Event) []types.NamespacedName
	// observers get each event before wake.
	observers []func(loop.Event)
	position  int
}

var errCrash = errors.New("crashed")

// Watch declares a kind by an example object and returns the actor's cache of that kind.
func (a *Actor) Watch(example plan.Object) cache.Indexer {
	v := &view{
		kind:    kindOf(example),
		indexer: cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}),
		wake:    func(loop.Event) []types.NamespacedName { return nil },
	}
	a.views = append(a.views, v)
	return v.indexer
}

// OnEvent sets the function that returns the keys that an event of a watched kind enqueues.
// The cache is updated before the call, and the observers are called before wake.
func (a *Actor) OnEvent(example plan.Object, wake func(loop.Event) []types.NamespacedName, observers ...func(loop.Event)) {
	for _, v := range a.views {
		if v.kind == kindOf(example) {
			v.wake, v.observers = wake, observers
		}
	}
}

// start builds a new reconciler and fills its caches from the world.
func (a *Actor) start() error {
	a.views, a.queue, a.crashed, a.writes = nil, nil, false, -1
	a.timers, a.failing = map[types.NamespacedName]time.Time{}, map[types.NamespacedName]error{}
	var err error
	if a.reconciler, err = a.setup(a); err != nil {
		return fmt.Errorf("setting %s up: %w", a.Name, err)
	}
	for _, v := range a.views {
		v.position = len(a.world.log)
		for _, o := range a.world.sorted(v.kind) {
			a.show(v, loop.Event{Type: loop.Added, Object: o})
		}
	}
	return nil
}

// behind returns the views that have undelivered events.
func (a *Actor) behind() []*view {
	return slices.DeleteFunc(slices.Clone(a.views), func(v *view) bool { return !a.world.hasNews(v) })
}

// deliver delivers the next event to the view.
func (a *Actor) deliver(v *view) {
	for v.position < len(a.world.log) {
		c := a.world.log[v.position]
		v.position++
		if c.kind == v.kind {
			a.show(v, c.event)
			return
		}
	}
}

func (a *Actor) show(v *view, ev loop.Event) {
	// Errors of an indexer are about keys, which all objects have.
	if ev.Type == loop.Deleted {
		_ = v.indexer.Delete(ev.Object)
	} else {
		_ = v.indexer.Update(ev.Object)
	}
	for _, observe := range v.observers {
		observe(ev)
	}
	for _, key := range v.wake(ev) {
		a.add(key)
	}
}

func (a *Actor) add(key types.NamespacedName) {
	if !slices.Contains(a.queue, key) {
		a.queue = append(a.queue, key)
	}
}

// reconcile reconciles the i-th key of the queue.
func (a *Actor) reconcile(i int, now time.Time) error {
	key := a.queue[i]
	a.queue = slices.Delete(a.queue, i, i+1)
	delete(a.failing, key)
	a.busy = true
	result, err := a.reconciler.Reconcile(context.Background(), key)
	a.busy = false
	if a.crashed {
		return a.start()
	}
	if err != nil {
		a.failing[key] = err
		a.add(key)
	}
	if due := now.Add(result.RequeueAfter); result.RequeueAfter > 0 {
		if known, ok := a.timers[key]; !ok || due.Before(known) {
			a.timers[key] = due
		}
	}
	return nil
}

// ring enqueues the keys whose timers are due.
func (a *Actor) ring(now time.Time) {
	for key, due := range a.timers {
		if !due.After(now) {
			delete(a.timers, key)
			a.add(key)
		}
	}
	slices.SortFunc(a.queue, func(x, y types.NamespacedName) int { return strings.Compare(x.String(), y.String()) })
}

// Writer returns a Writer for the actor. Before each of its writes others may act, and the
// actor may crash instead of writing.
func (a *Actor) Writer() executor.Writer { return actorWriter{a} }

type actorWriter struct{ a *Actor }

func (w actorWriter) before() error {
	if w.a.crashed {
		return errCrash
	}
	if w.a.between != nil {
		w.a.between()
	}
	if w.a.writes == 0 {
		w.a.crashed = true
		return errCrash
	}
	w.a.writes--
	return nil
}

func (w actorWriter) Get(ctx context.Context, like plan.Object) (plan.Object, error) {
	if w.a.crashed {
		return nil, errCrash
	}
	return w.a.world.Get(ctx, like)
}

func (w actorWriter) Create(ctx context.Context, o plan.Object) (plan.Object, error) {
	if err := w.before(); err != nil {
		return nil, err
	}
	return w.a.world.Create(ctx, o)
}

func (w actorWriter) Update(ctx context.Context, o plan.Object, sub string) (plan.Object, error) {
	if err := w.before(); err != nil {
		return nil, err
	}
	return w.a.world.Update(ctx, o, sub)
}

func (w actorWriter) Patch(ctx context.Context, o plan.Object, patch []byte) (plan.Object, error) {
	if err := w.before(); err != nil {
		return nil, err
	}
	return w.a.world.Patch(ctx, o, patch)
}

func (w actorWriter) Delete(ctx context.Context, o plan.Object) error {
	if err := w.before(); err != nil {
		return err
	}
	return w.a.world.Delete(ctx, o)
}

// hasNews reports whether the log has events that the view has not seen.
func (w *World) hasNews(v *view) bool {
	for v.position < len(w.log) && w.log[v.position].kind != v.kind {
		v.position++
	}
	return v.position < len(w.log)
}
