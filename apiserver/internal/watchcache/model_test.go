package watchcache

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"minikcm.dev/minikcm/internal/storetest"
	"minikcm.dev/minikcm/store"
)

// TestModel writes, watches with and without selectors, stops, resumes and breaks
// watches at random, and validates every stream against the writes.
func TestModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &model{T: rt, state: map[string]podState{}}
		s := store.NewMemory()
		m.fixture = newFixtureOn(rt, s, prefix, func(cfg *Config) {
			cfg.RingSize = rapid.SampledFrom([]int{3, 1000}).Draw(rt, "ring size")
			cfg.WatcherBuffer = rapid.SampledFrom([]int{4, 1000}).Draw(rt, "buffer")
			if rapid.Bool().Draw(rt, "packed") {
				cfg.Packed = packedPod
			}
		})
		defer func() {
			m.fixture.cache.Close()
			if err := s.Close(); err != nil {
				rt.Fatal(err)
			}
		}()
		rt.Repeat(map[string]func(*rapid.T){
			"put": m.put, "remove": m.remove, "elsewhere": m.elsewhere,
			"watch": m.watch, "read": m.read, "resume": m.resume,
			"bookmark": func(*rapid.T) { m.fixture.cache.bookmark() },
			"break":    m.breakWatch, "list": m.list,
		})
		m.finish()
	})
}

// podState is the model's state of a pod.
type podState struct{ label, node string }

func (s *podState) String() string { return s.label + "/" + s.node }

// modelWrite is one write to the prefix.
type modelWrite struct {
	revision      int64
	key           string
	before, after *podState
}

type model struct {
	*rapid.T
	fixture   *fixture
	state     map[string]podState
	history   []modelWrite
	revision  int64 // the store's revision
	observers []*observer
	broken    *gate // the gate of the attempt that was broken last
}

// observer is a client that watches, possibly with several consecutive watches.
type observer struct {
	opts    WatchOptions
	watcher *Watcher // nil after the end
	streams []storetest.Stream
	// initial is set while the state that the stream starts with has not been read yet.
	initial  bool
	delivery int
}

func (m *model) pod(t *rapid.T) *v1.Pod {
	pod := newPod(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name"),
		rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "label"),
		rapid.SampledFrom([]string{"", "n1", "n2"}).Draw(t, "node"))
	pod.Namespace = rapid.SampledFrom([]string{"default", "other"}).Draw(t, "namespace")
	pod.Generation = m.revision + 1 // no two writes have the same bytes
	return pod
}

func (m *model) put(t *rapid.T) {
	pod := m.pod(t)
	key := m.fixture.key(pod)
	h := modelWrite{key: key, after: &podState{pod.Labels["app"], pod.Spec.NodeName}, revision: m.fixture.put(pod)}
	if before, ok := m.state[key]; ok {
		h.before = &before
	}
	m.state[key] = *h.after
	m.happened(h)
}

func (m *model) remove(t *rapid.T) {
	pod := m.pod(t)
	before, ok := m.state[m.fixture.key(pod)]
	if !ok {
		t.Skip("not there")
	}
	delete(m.state, m.fixture.key(pod))
	m.happened(modelWrite{key: m.fixture.key(pod), before: &before, revision: m.fixture.remove(pod)})
}

func (m *model) happened(h modelWrite) {
	m.history = append(m.history, h)
	m.revision = h.revision
}

func (m *model) elsewhere(t *rapid.T) {
	revision, err := m.fixture.store.Put(m.fixture.ctx, fmt.Sprint("/registry/other/", m.revision), []byte("x"), 0)
	if err != nil {
		t.Fatal(err)
	}
	m.revision = revision
}

func (m *model) breakWatch(t *rapid.T) {
	// The cache starts the next attempt immediately only after an attempt that made
	// progress.
	for m.broken != nil && m.gate() == m.broken {
		runtime.Gosched()
	}
	m.fixture.catchUp(0)
	m.put(t)
	m.fixture.catchUp(m.revision)
	m.broken = m.gate()
	m.fixture.store.breakWatches(errors.New("broken"))
}

func (m *model) gate() *gate {
	m.fixture.cache.mu.RLock()
	defer m.fixture.cache.mu.RUnlock()
	return m.fixture.cache.gate
}

func (m *model) watch(t *rapid.T) {
	o := &observer{opts: WatchOptions{Prefix: rapid.SampledFrom([]string{prefix, prefix + "default/"}).Draw(t, "prefix")}}
	switch rapid.IntRange(0, 6).Draw(t, "selector") {
	case 0:
		o.opts.Label = labels.SelectorFromSet(labels.Set{"app": "x"})
	case 1:
		o.opts.Field = fields.OneTermEqualSelector("spec.nodeName", "n1")
	case 2:
		o.opts.Field = fields.OneTermNotEqualSelector("spec.nodeName", "n1")
	case 3:
		o.opts.Field = fields.OneTermEqualSelector("metadata.name", "a")
		o.opts.Label = labels.SelectorFromSet(labels.Set{"app": "y"})
	case 4:
		o.opts.Key = prefix + "default/b"
	}
	o.opts.Bookmarks = rapid.Bool().Draw(t, "bookmarks")
	if len(m.history) > 0 && rapid.Bool().Draw(t, "from the past") {
		o.opts.Revision = rapid.SampledFrom(m.history).Draw(t, "from").revision
	}
	switch rapid.IntRange(0, 2).Draw(t, "send initial events") {
	case 0:
		o.opts.SendInitialEvents = ptr.To(false)
	case 1:
		o.opts.SendInitialEvents = ptr.To(true)
		o.opts.Bookmarks = o.opts.Bookmarks || o.opts.Revision > 0
	}
	if m.open(t, o) {
		m.observers = append(m.observers, o)
	}
}

// open starts a watch, unless its revision is too old.
func (m *model) open(t *rapid.T, o *observer) bool {
	w, err := m.fixture.cache.Watch(m.fixture.ctx, o.opts)
	if apierrors.IsResourceExpired(err) {
		if o.opts.SendInitialEvents != nil && *o.opts.SendInitialEvents || o.opts.Revision == 0 {
			t.Fatal("a watch that begins with a state is never too old")
		}
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	o.watcher = w
	o.initial = o.opts.Revision == 0
	if o.opts.SendInitialEvents != nil {
		o.initial = *o.opts.SendInitialEvents
	}
	from := o.opts.Revision
	if from == 0 {
		from = m.revision
	}
	o.streams = append(o.streams, storetest.Stream{From: from + 1})
	return true
}

func (m *model) read(t *rapid.T) {
	if len(m.observers) == 0 {
		t.Skip("there is no watch")
	}
	m.readFrom(rapid.SampledFrom(m.observers).Draw(t, "observer"))
}

// readFrom reads the events queued for o.
func (m *model) readFrom(o *observer) {
	for o.watcher != nil {
		events, err := queued(o.watcher)
		if errors.Is(err, ErrClosed) {
			o.watcher.Stop()
			o.watcher = nil
			return
		}
		if err != nil {
			m.Fatal(err)
		}
		if len(events) == 0 {
			return
		}
		if o.initial {
			o.initial = false
			events = m.initial(o, events)
		}
		o.delivery++
		stream := &o.streams[len(o.streams)-1]
		for _, e := range events {
			stream.Events = append(stream.Events, m.converted(o, e))
		}
	}
}

func (m *model) converted(o *observer, e Event) storetest.Event {
	if e.Initial || e.InitialEventsEnd {
		m.Fatalf("%v comes after the state", describe([]Event{e}))
	}
	converted := storetest.Event{Revision: e.Entry.Revision, Delivery: o.delivery}
	if e.Type == watch.Bookmark {
		converted.Type = storetest.Progress
		if !o.opts.Bookmarks {
			m.Fatal("a bookmark without a request")
		}
		return converted
	}
	pod := e.Entry.Object().(*v1.Pod)
	if pod.ResourceVersion != fmt.Sprint(e.Entry.Revision) {
		m.Fatalf("resourceVersion %s at revision %d", pod.ResourceVersion, e.Entry.Revision)
	}
	converted.Key = e.Entry.Key
	converted.Type = storetest.Put
	if e.Type == watch.Deleted {
		converted.Type = storetest.Delete
	}
	converted.Value = fmt.Sprintf("%s %s/%s", e.Type, pod.Labels["app"], pod.Spec.NodeName)
	return converted
}

// initial checks the state that a stream starts with and returns the events after it.
func (m *model) initial(o *observer, events []Event) []Event {
	n := 0
	var got []string
	for n < len(events) && events[n].Initial {
		pod := events[n].Entry.Object().(*v1.Pod)
		got = append(got, fmt.Sprintf("%s %s/%s@%s", events[n].Entry.Key, pod.Labels["app"], pod.Spec.NodeName, pod.ResourceVersion))
		n++
	}
	stream := &o.streams[len(o.streams)-1]
	if o.opts.SendInitialEvents != nil && o.opts.Bookmarks {
		if n == len(events) || !events[n].InitialEventsEnd {
			m.Fatal("the state's end is not marked")
		}
		if events[n].Entry.Revision < stream.From-1 {
			m.Fatalf("the state is that of revision %d, wanted is %d", events[n].Entry.Revision, stream.From-1)
		}
		stream.From = events[n].Entry.Revision + 1
		n++
	}
	want := m.stateAt(o, stream.From-1)
	if diff := cmp.Diff(want, got); diff != "" {
		m.Fatalf("state at revision %d: %s", stream.From-1, diff)
	}
	return events[n:]
}

func (m *model) stateAt(o *observer, revision int64) []string {
	state := map[string]string{}
	for _, h := range m.history {
		if h.revision > revision {
			break
		}
		delete(state, h.key)
		if o.sees(h.key, h.after) {
			state[h.key] = fmt.Sprintf("%s %s@%d", h.key, h.after, h.revision)
		}
	}
	var lines []string
	for _, line := range state {
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return lines
}

func (o *observer) sees(key string, s *podState) bool {
	if s == nil || !strings.HasPrefix(key, o.opts.Prefix) || o.opts.Key != "" && key != o.opts.Key {
		return false
	}
	pod := newPod(key[strings.LastIndex(key, "/")+1:], s.label, s.node)
	labelSet, fieldSet := podAttrs(pod)
	return (o.opts.Label == nil || o.opts.Label.Matches(labelSet)) && (o.opts.Field == nil || o.opts.Field.Matches(fieldSet))
}

// writesFor returns the writes that o must see.
func (m *model) writesFor(o *observer) storetest.History {
	var history storetest.History
	for _, h := range m.history {
		is, was := o.sees(h.key, h.after), o.sees(h.key, h.before)
		event := storetest.Event{Revision: h.revision, Key: h.key, Type: storetest.Put}
		switch {
		case is && was:
			event.Value = "MODIFIED " + h.after.String()
		case is:
			event.Value = "ADDED " + h.after.String()
		case was:
			event.Type, event.Value = storetest.Delete, "DELETED "+h.before.String()
		default:
			continue
		}
		history.Events = append(history.Events, event)
	}
	return history
}

// resume starts a watch where an observer's last one ended.
func (m *model) resume(t *rapid.T) {
	if len(m.observers) == 0 {
		t.Skip("there is no watch")
	}
	o := rapid.SampledFrom(m.observers).Draw(t, "observer")
	if o.watcher != nil && o.initial {
		m.readFrom(o)
	}
	if o.watcher != nil {
		o.watcher.Stop()
		o.watcher = nil
	}
	if o.initial {
		return // the watch ended before it was read
	}
	o.opts.Revision = o.streams[len(o.streams)-1].Reached()
	o.opts.SendInitialEvents = nil
	if o.opts.Revision > 0 {
		m.open(t, o)
	}
}

func (m *model) list(t *rapid.T) {
	list, err := m.fixture.cache.List(m.fixture.ctx, ListOptions{Prefix: prefix, Match: Consistent})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range list.Entries {
		got = append(got, fmt.Sprintf("%s %s/%s@%d", e.Key, e.Labels["app"], e.Fields.Get("spec.nodeName"), e.Revision))
	}
	want := m.stateAt(&observer{opts: WatchOptions{Prefix: prefix}}, m.revision)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
}

// finish reads all streams to their end and validates them.
func (m *model) finish() {
	m.fixture.catchUp(m.revision)
	for _, o := range m.observers {
		open := o.watcher != nil
		m.readFrom(o)
		history := m.writesFor(o)
		if err := storetest.Resumable(history, o.streams...); err != nil {
			m.Fatalf("%+v: %v", o.opts, err)
		}
		last := o.streams[len(o.streams)-1]
		if err := storetest.Validate(history, last); err != nil {
			m.Fatalf("%+v: %v", o.opts, err)
		}
		if !open || o.watcher == nil {
			continue
		}
		for _, e := range history.Events {
			if e.Revision >= last.From && e.Revision > last.Reached() {
				m.Fatalf("%+v: %v was never delivered", o.opts, e)
			}
		}
		o.watcher.Stop()
	}
	if err := m.fixture.ledger.WaitIdle(m.fixture.ctx); err != nil {
		m.Fatal(err)
	}
}
