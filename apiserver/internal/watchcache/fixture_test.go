package watchcache

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/store"
)

const prefix = "/registry/pods/"

// tb is the common interface of *testing.T and *rapid.T.
type tb interface {
	Helper()
	Cleanup(func())
	Fatal(...any)
	Fatalf(string, ...any)
	Error(...any)
}

// fixture is a cache of pods over a store in memory, with a virtual clock.
type fixture struct {
	tb
	ctx    context.Context
	store  *faultyStore
	ledger *clock.Ledger
	clock  *clock.Virtual
	cache  *Cache
	decode int // number of pods decoded
	mu     sync.Mutex
}

func newStore(t testing.TB) store.Store {
	t.Helper()
	s := store.NewMemory()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func newFixture(t testing.TB, change ...func(*Config)) *fixture {
	t.Helper()
	return newFixtureOn(t, newStore(t), prefix, change...)
}

// newFixtureOn returns a fixture that close closes or, at the latest, the end of the
// test.
func newFixtureOn(t tb, s store.Store, prefix string, change ...func(*Config)) *fixture {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	ledger := clock.NewLedger()
	f := &fixture{
		tb: t, ctx: ctx,
		store: &faultyStore{Store: s}, ledger: ledger,
		clock: clock.NewVirtual(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC), ledger),
	}
	cfg := Config{
		Store: f.store, Prefix: prefix, Clock: f.clock, Ledger: ledger, Logger: klog.Background().V(9),
		Attrs: podAttrs, WithRevision: podWithRevision,
		Decode: func(kv store.KeyValue) (runtime.Object, error) {
			f.mu.Lock()
			f.decode++
			f.mu.Unlock()
			return decodePod(kv)
		},
	}
	for _, apply := range change {
		apply(&cfg)
	}
	f.cache = New(cfg)
	t.Cleanup(func() {
		f.cache.Close()
		f.clock.Close()
		cancel()
	})
	return f
}

func (f *fixture) decoded() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.decode
}

func decodePod(kv store.KeyValue) (runtime.Object, error) {
	pod := &v1.Pod{}
	if err := pod.Unmarshal(kv.Value); err != nil {
		return nil, err
	}
	pod.ResourceVersion = strconv.FormatInt(kv.ModRevision, 10)
	return pod, nil
}

func podAttrs(obj runtime.Object) (labels.Set, fields.Fields) {
	pod := obj.(*v1.Pod)
	return pod.Labels, fields.Set{"metadata.name": pod.Name, "spec.nodeName": pod.Spec.NodeName}
}

// packedPod keeps pods encoded, except the pods of app b.
func packedPod(value []byte) (fields.Fields, bool) {
	pod := &v1.Pod{}
	if err := pod.Unmarshal(value); err != nil {
		return nil, false
	}
	_, set := podAttrs(pod)
	return set, pod.Labels["app"] != "b"
}

func podWithRevision(obj runtime.Object, revision int64) runtime.Object {
	pod := *obj.(*v1.Pod)
	pod.ResourceVersion = strconv.FormatInt(revision, 10)
	return &pod
}

func newPod(name, label, node string) *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	if label != "" {
		pod.Labels = map[string]string{"app": label}
	}
	pod.Spec.NodeName = node
	return pod
}

func (f *fixture) key(pod *v1.Pod) string {
	return f.cache.cfg.Prefix + pod.Namespace + "/" + pod.Name
}

// put creates or replaces a pod, as the storage does.
func (f *fixture) put(pod *v1.Pod) int64 {
	f.Helper()
	key := f.key(pod)
	var expected int64
	if kv, err := f.store.Get(f.ctx, key, 0); err == nil {
		expected = kv.ModRevision
	}
	value, err := pod.Marshal()
	if err != nil {
		f.Fatal(err)
	}
	write := f.cache.Wrote(key, value, pod)
	revision, err := f.store.Put(f.ctx, key, value, expected)
	if err != nil {
		write.Failed()
		f.Fatal(err)
	}
	f.cache.Committed(revision)
	return revision
}

func (f *fixture) remove(pod *v1.Pod) int64 {
	f.Helper()
	key := f.key(pod)
	kv, err := f.store.Get(f.ctx, key, 0)
	if err != nil {
		f.Fatal(err)
	}
	revision, err := f.store.Delete(f.ctx, key, kv.ModRevision)
	if err != nil {
		f.Fatal(err)
	}
	f.cache.Committed(revision)
	return revision
}

// catchUp waits until the cache is at a revision.
func (f *fixture) catchUp(revision int64) {
	f.Helper()
	if _, _, err := f.cache.Get(f.ctx, prefix, revision); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) watch(opts WatchOptions) *Watcher {
	f.Helper()
	if opts.Prefix == "" {
		opts.Prefix = f.cache.cfg.Prefix
	}
	w, err := f.cache.Watch(f.ctx, opts)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(w.Stop)
	return w
}

// next waits for events and returns all that w has queued.
func (f *fixture) next(w *Watcher) []string {
	f.Helper()
	events, err := w.Next(f.ctx)
	if err != nil {
		f.Fatal(err)
	}
	return describe(events)
}

// queued returns the events that w has queued; it does not wait.
func queued(w *Watcher) ([]Event, error) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	events, err := w.Next(ctx)
	if errors.Is(err, context.Canceled) {
		return nil, nil
	}
	return events, err
}

// describe formats events as "ADDED web@3", with the revision.
func describe(events []Event) []string {
	var lines []string
	for _, e := range events {
		line := string(e.Type)
		if e.Entry.Object() != nil {
			pod := e.Entry.Object().(*v1.Pod)
			line += " " + pod.Name + "@" + pod.ResourceVersion
		} else {
			line += " @" + strconv.FormatInt(e.Entry.Revision, 10)
		}
		if e.InitialEventsEnd {
			line += " end"
		}
		lines = append(lines, line)
	}
	return lines
}

func at(eventType, name string, revision int64) string {
	line := eventType + " "
	return line + name + "@" + strconv.FormatInt(revision, 10)
}
