package informers_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/clock/informers"
)

// within is far more than anything here takes.
const within = time.Minute

type cluster struct {
	*server
	factory *informers.Factory
	ledger  *clock.Ledger
	ctx     context.Context
	stop    func()
}

func newCluster(t *testing.T, contentType string, opts ...informers.Option) *cluster {
	t.Helper()
	ledger := clock.NewLedger()
	s := newServer(t, ledger, contentType)
	factory, err := informers.NewForConfig(s.config(), ledger, opts...)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), within)
	c := &cluster{server: s, factory: factory, ledger: ledger, ctx: ctx}
	c.stop = sync.OnceFunc(func() {
		cancel()
		factory.Shutdown()
	})
	t.Cleanup(c.stop)
	return c
}

func (c *cluster) idle(t *testing.T) {
	t.Helper()
	if err := c.ledger.WaitIdle(c.ctx); err != nil {
		t.Fatal(err)
	}
}

// slow is a handler that blocks, and records the events that it got.
type slow struct {
	mu   sync.Mutex
	last map[string]string
	runs int
}

func newSlow() *slow { return &slow{last: map[string]string{}} }

func (h *slow) see(obj any, deleted bool) {
	spin()
	if tomb, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = tomb.Obj
	}
	cm := obj.(*corev1.ConfigMap)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.runs++
	h.last[cm.Name] = cm.Data["n"]
	if deleted {
		delete(h.last, cm.Name)
	}
}

func (h *slow) OnAdd(obj any, _ bool)  { h.see(obj, false) }
func (h *slow) OnUpdate(_, newObj any) { h.see(newObj, false) }
func (h *slow) OnDelete(obj any)       { h.see(obj, true) }
func (h *slow) get(name string) string { h.mu.Lock(); defer h.mu.Unlock(); return h.last[name] }
func (h *slow) count() int             { h.mu.Lock(); defer h.mu.Unlock(); return h.runs }
func (h *slow) has(name string) (ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, ok = h.last[name]
	return
}

var sink atomic.Uint64

// spin uses some processor time.
func spin() {
	n := sink.Load()
	for range 20_000 {
		n = n*6364136223846793005 + 1442695040888963407
	}
	sink.Store(n)
}

func forEachForm(t *testing.T, test func(t *testing.T, contentType string, plain bool)) {
	for _, contentType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		for _, plain := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s,plain=%t", contentType, plain), func(t *testing.T) {
				t.Parallel()
				test(t, contentType, plain)
			})
		}
	}
}

// Whenever the ledger says that nothing is in flight, each handler has returned from
// everything that was written, and the lister shows it.
func TestIdleMeansHandled(t *testing.T) {
	forEachForm(t, func(t *testing.T, contentType string, plain bool) {
		c := newCluster(t, contentType)
		c.plain = plain
		for i := range 20 {
			c.write(watch.Added, "old"+strconv.Itoa(i), map[string]string{"n": "0"})
		}
		shared := c.factory.Core().V1().ConfigMaps()
		handlers := []*slow{newSlow(), newSlow(), newSlow()}
		for _, h := range handlers {
			if _, err := shared.Informer().AddEventHandler(h); err != nil {
				t.Fatal(err)
			}
		}
		if !c.ledger.Idle() {
			t.Errorf("in flight before the start: %s", c.ledger)
		}
		c.factory.StartWithContext(c.ctx)
		// StartWithContext counts the first list before it returns: WaitIdle would otherwise
		// return at once, and the handlers would have seen nothing.
		c.idle(t)
		for _, h := range handlers {
			if got := h.count(); got != 20 {
				t.Fatalf("idle, and a handler has seen %d of 20 objects", got)
			}
		}
		for i := range 200 {
			name, value := "cm"+strconv.Itoa(i%7), strconv.Itoa(i)
			kind := watch.Modified
			if i < 7 {
				kind = watch.Added
			}
			c.write(kind, name, map[string]string{"n": value})
			if i%3 == 0 { // several at once
				continue
			}
			c.idle(t)
			for _, h := range handlers {
				if got := h.get(name); got != value {
					t.Fatalf("idle, and a handler has seen %q of %s, want %q", got, name, value)
				}
			}
			if cm, err := shared.Lister().ConfigMaps("default").Get(name); err != nil || cm.Data["n"] != value {
				t.Fatalf("idle, and the lister has %v, %v; want %q", cm, err, value)
			}
		}
		c.write(watch.Deleted, "cm0", nil)
		c.idle(t)
		for _, h := range handlers {
			if h.has("cm0") {
				t.Error("idle, and a handler has not seen the deletion")
			}
		}
		c.stop()
		if !c.ledger.Idle() {
			t.Errorf("in flight after the end: %s", c.ledger)
		}
	})
}

// A watch that ends, with or without loss, is made up for before the ledger is idle.
func TestReconnect(t *testing.T) {
	forEachForm(t, func(t *testing.T, contentType string, plain bool) {
		c := newCluster(t, contentType)
		c.plain = plain
		shared := c.factory.Core().V1().ConfigMaps().Informer()
		h := newSlow()
		if _, err := shared.AddEventHandler(h); err != nil {
			t.Fatal(err)
		}
		c.write(watch.Added, "stays", map[string]string{"n": "0"})
		c.factory.StartWithContext(c.ctx)
		c.idle(t)
		for i := range 3 {
			value := strconv.Itoa(i)
			c.write(watch.Modified, "moves", map[string]string{"n": value})
			c.breakStreams(i%2 == 0)
			// A reflector that is quick has another watch by now.
			if c.ledger.Idle() && c.watches() == 0 {
				t.Error("idle without a watch")
			}
			c.idle(t)
			if h.get("moves") != value && i%2 == 1 {
				t.Errorf("idle after the break, and the handler has seen %q, want %q", h.get("moves"), value)
			}
			c.write(watch.Modified, "moves", map[string]string{"n": value + "again"})
			c.idle(t)
			if got := h.get("moves"); got != value+"again" {
				t.Errorf("idle after the reconnect, and the handler has seen %q, want %q", got, value+"again")
			}
		}
	})
}

func TestLateAndRemovedHandlers(t *testing.T) {
	c := newCluster(t, runtime.ContentTypeProtobuf)
	shared := c.factory.Core().V1().ConfigMaps().Informer()
	c.factory.StartWithContext(c.ctx)
	c.write(watch.Added, "cm", map[string]string{"n": "0"})
	c.idle(t)
	late, blocked := newSlow(), make(chan struct{})
	if _, err := shared.AddEventHandler(late); err != nil {
		t.Fatal(err)
	}
	c.idle(t)
	if got := late.get("cm"); got != "0" {
		t.Errorf("idle, and the late handler has seen %q, want 0", got)
	}
	stuck, err := shared.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(any, any) { <-blocked }})
	if err != nil {
		t.Fatal(err)
	}
	c.write(watch.Modified, "cm", map[string]string{"n": "1"})
	c.write(watch.Modified, "cm", map[string]string{"n": "2"})
	short, cancel := context.WithCancel(c.ctx)
	cancel()
	if err := c.ledger.WaitIdle(short); err == nil {
		t.Error("idle while a handler has not returned")
	}
	if err := shared.RemoveEventHandler(stuck); err != nil {
		t.Fatal(err)
	}
	c.idle(t)
	if got := late.get("cm"); got != "2" {
		t.Errorf("idle, and the late handler has seen %q, want 2", got)
	}
	close(blocked)
	c.write(watch.Modified, "cm", map[string]string{"n": "3"})
	c.idle(t)
	if got := late.get("cm"); got != "3" {
		t.Errorf("idle, and the late handler has seen %q, want 3", got)
	}
}

// TestEarlyHandlers checks that handlers that are added before the start get each event in the order in which
// they were added, until they are removed, without goroutines of their own.
func TestEarlyHandlers(t *testing.T) {
	c := newCluster(t, runtime.ContentTypeProtobuf)
	shared := c.factory.Core().V1().ConfigMaps().Informer()
	var seen []string // handlers are called one after the other, and read when the cluster is idle
	handler := func(name string) cache.ResourceEventHandler {
		note := func(verb string, obj any) { seen = append(seen, name+" "+verb+" "+obj.(*corev1.ConfigMap).Name) }
		return cache.ResourceEventHandlerFuncs{
			AddFunc: func(obj any) { note("added", obj) }, UpdateFunc: func(_, obj any) { note("updated", obj) }, DeleteFunc: func(obj any) { note("deleted", obj) },
		}
	}
	var registrations []cache.ResourceEventHandlerRegistration
	for _, name := range []string{"a", "b", "c"} {
		r, err := shared.AddEventHandler(handler(name))
		if err != nil {
			t.Fatal(err)
		}
		registrations = append(registrations, r)
	}
	remove := func(i int) {
		t.Helper()
		for range 2 { // the second time does nothing
			if err := shared.RemoveEventHandler(registrations[i]); err != nil {
				t.Fatal(err)
			}
		}
	}
	expect := func(want ...string) {
		t.Helper()
		c.idle(t)
		if !slices.Equal(seen, want) {
			t.Errorf("the handlers saw %q, want %q", seen, want)
		}
		seen = nil
	}
	remove(2)
	c.write(watch.Added, "cm", nil)
	c.factory.StartWithContext(c.ctx)
	expect("a added cm", "b added cm")
	for i, r := range registrations[:2] {
		select {
		case <-r.HasSyncedChecker().Done(): // client-go closes it when a goroutine of its own has looked
		case <-c.ctx.Done():
			t.Errorf("handler %d has not synced", i)
		}
	}
	c.write(watch.Modified, "cm", map[string]string{"n": "1"})
	expect("a updated cm", "b updated cm")
	remove(0)
	c.write(watch.Modified, "cm", map[string]string{"n": "2"})
	expect("b updated cm")
	remove(1)
	c.write(watch.Deleted, "cm", nil)
	expect()
	if _, err := shared.AddEventHandler(handler("late")); err != nil {
		t.Fatal(err)
	}
	c.write(watch.Added, "new", nil)
	expect("late added new")
}

func TestOneInformerPerType(t *testing.T) {
	c := newCluster(t, runtime.ContentTypeProtobuf)
	generic, err := c.factory.ForResource(corev1.SchemeGroupVersion.WithResource("configmaps"))
	if err != nil {
		t.Fatal(err)
	}
	typed := c.factory.Core().V1().ConfigMaps()
	h := newSlow()
	if _, err := generic.Informer().AddEventHandler(h); err != nil {
		t.Fatal(err)
	}
	c.write(watch.Added, "cm", map[string]string{"n": "1"})
	c.factory.StartWithContext(c.ctx)
	c.idle(t)
	list, err := typed.Lister().List(labels.Everything())
	if err != nil || len(list) != 1 {
		t.Errorf("the typed lister has %v, %v", list, err)
	}
	if obj, err := generic.Lister().ByNamespace("default").Get("cm"); err != nil {
		t.Errorf("the generic lister has %v, %v", obj, err)
	}
	if h.count() != 1 {
		t.Errorf("the handler was called %d times, want once", h.count())
	}
	if _, err := c.factory.ForResource(corev1.SchemeGroupVersion.WithResource("wishes")); err == nil {
		t.Error("got an informer for a resource that does not exist")
	}
}

func TestTransform(t *testing.T) {
	c := newCluster(t, runtime.ContentTypeProtobuf, informers.WithTransform(func(obj any) (any, error) {
		cm := obj.(*corev1.ConfigMap).DeepCopy()
		if cm.Data["n"] == "bad" {
			return nil, fmt.Errorf("refused")
		}
		cm.Data["n"] += "!"
		return cm, nil
	}))
	h := newSlow()
	if _, err := c.factory.Core().V1().ConfigMaps().Informer().AddEventHandler(h); err != nil {
		t.Fatal(err)
	}
	c.factory.StartWithContext(c.ctx)
	c.idle(t)
	c.write(watch.Added, "cm", map[string]string{"n": "1"})
	c.write(watch.Modified, "cm", map[string]string{"n": "bad"})
	c.idle(t)
	if got := h.get("cm"); got != "1!" {
		t.Errorf("got %q, want 1!", got)
	}
}

func TestWithoutLedger(t *testing.T) {
	s := newServer(t, nil, runtime.ContentTypeProtobuf)
	factory, err := informers.NewForConfig(s.config(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer factory.Shutdown()
	defer cancel()
	shared := factory.Core().V1().ConfigMaps().Informer()
	factory.Start(ctx.Done())
	if synced := factory.WaitForCacheSyncWithContext(ctx); synced.Err != nil {
		t.Fatal(synced.AsError())
	}
	if !shared.HasSynced() {
		t.Error("not synced")
	}
}
