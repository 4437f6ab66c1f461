package watchcache

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/store"
)

// TestWatchBegins is the table of API Concepts "Semantics for watch" and of KEP-3157:
// object a exists at the first revision, b is created at the second.
func TestWatchBegins(t *testing.T) {
	for _, test := range []struct {
		what string
		// Revisions 1 and 2 stand for the first and the second.
		opts WatchOptions
		want []string
	}{
		{"from now", WatchOptions{}, []string{"ADDED a@first", "ADDED b@second"}},
		{"from now, no state", WatchOptions{SendInitialEvents: ptr.To(false)}, nil},
		{"from the first", WatchOptions{Revision: 1}, []string{"ADDED b@second"}},
		{"from the last", WatchOptions{Revision: 2}, nil},
		{"from the first, no state", WatchOptions{Revision: 1, SendInitialEvents: ptr.To(false)}, []string{"ADDED b@second"}},
		{"streaming list", WatchOptions{SendInitialEvents: ptr.To(true), Bookmarks: true}, []string{"ADDED a@first", "ADDED b@second", "BOOKMARK @second end"}},
		{"streaming list not older than", WatchOptions{Revision: 1, SendInitialEvents: ptr.To(true), Bookmarks: true}, []string{"ADDED a@first", "ADDED b@second", "BOOKMARK @second end"}},
		{"streaming list without bookmarks", WatchOptions{SendInitialEvents: ptr.To(true)}, []string{"ADDED a@first", "ADDED b@second"}},
		{"by key", WatchOptions{Key: prefix + "default/b"}, []string{"ADDED b@second"}},
		{"by key that is not there", WatchOptions{Key: prefix + "default/"}, nil},
	} {
		t.Run(test.what, func(t *testing.T) {
			f := newFixture(t)
			first := f.put(newPod("a", "", ""))
			f.catchUp(0)
			second := f.put(newPod("b", "", ""))
			f.catchUp(second)
			revisions := []int64{0, first, second}
			test.opts.Revision = revisions[test.opts.Revision]
			w := f.watch(test.opts)
			live := f.put(newPod("b", "x", ""))
			numbers := strings.NewReplacer("@first", fmt.Sprint("@", first), "@second", fmt.Sprint("@", second))
			var got []string
			last := at("MODIFIED", "b", live)
			if strings.Contains(test.what, "not there") {
				events, err := queued(w)
				if len(events) != 0 || err != nil {
					t.Errorf("got %v, %v", events, err)
				}
				return
			}
			for len(got) == 0 || got[len(got)-1] != last {
				got = append(got, f.next(w)...)
			}
			var want []string
			for _, line := range append(test.want, last) {
				want = append(want, numbers.Replace(line))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestInitialEventsAreMarked(t *testing.T) {
	f := newFixture(t)
	f.put(newPod("a", "", ""))
	w := f.watch(WatchOptions{SendInitialEvents: ptr.To(true), Bookmarks: true})
	events, err := w.Next(f.ctx)
	if err != nil || len(events) != 2 || !events[0].Initial || events[0].InitialEventsEnd || !events[1].InitialEventsEnd {
		t.Errorf("got %+v, %v", events, err)
	}
}

// TestFirstWatchOfThePast watches from a revision before the one that the cache starts
// at.
func TestFirstWatchOfThePast(t *testing.T) {
	f := newFixture(t)
	first := f.put(newPod("a", "", ""))
	second := f.put(newPod("b", "", ""))
	third := f.remove(newPod("a", "", ""))
	w := f.watch(WatchOptions{Revision: first})
	if diff := cmp.Diff([]string{at("ADDED", "b", second), at("DELETED", "a", third)}, f.next(w)); diff != "" {
		t.Error(diff)
	}
}

func TestFirstWatchOfTheCompactedPast(t *testing.T) {
	f := newFixture(t)
	first := f.put(newPod("a", "", ""))
	second := f.put(newPod("b", "", ""))
	f.put(newPod("c", "", ""))
	if err := f.store.Compact(f.ctx, second+1); err != nil {
		t.Fatal(err)
	}
	_, err := f.cache.Watch(f.ctx, WatchOptions{Prefix: prefix, Revision: first})
	if !apierrors.IsResourceExpired(err) {
		t.Errorf("got %v", err)
	}
}

func TestTooOldRevision(t *testing.T) {
	f := newFixture(t, func(cfg *Config) { cfg.RingSize = 2 })
	f.catchUp(0)
	var revisions []int64
	for i := range 4 {
		revisions = append(revisions, f.put(newPod("a", fmt.Sprint(i), "")))
	}
	f.catchUp(revisions[3])
	_, err := f.cache.Watch(f.ctx, WatchOptions{Prefix: prefix, Revision: revisions[0]})
	if !apierrors.IsResourceExpired(err) || !strings.Contains(err.Error(), fmt.Sprintf("too old resource version: %d (%d)", revisions[0], revisions[1])) {
		t.Errorf("got %v", err)
	}
	w := f.watch(WatchOptions{Revision: revisions[1]})
	if diff := cmp.Diff([]string{at("MODIFIED", "a", revisions[2]), at("MODIFIED", "a", revisions[3])}, f.next(w)); diff != "" {
		t.Error(diff)
	}
}

func TestSelectorsMakeTransitions(t *testing.T) {
	selectors := map[string]WatchOptions{
		"label":       {Label: labels.SelectorFromSet(labels.Set{"app": "x"})},
		"index field": {Field: fields.OneTermEqualSelector("spec.nodeName", "x")},
		"field":       {Field: fields.OneTermNotEqualSelector("spec.nodeName", "y")},
	}
	for what, opts := range selectors {
		t.Run(what, func(t *testing.T) {
			f := newFixture(t)
			out := f.put(newPod("a", "y", "y"))
			opts.Revision = out
			w := f.watch(opts)
			replay := []string{
				at("ADDED", "a", f.put(newPod("a", "x", "x"))),
			}
			changed := newPod("a", "x", "x")
			changed.Generation = 2
			replay = append(replay, at("MODIFIED", "a", f.put(changed)))
			gone := f.put(newPod("a", "y", "y"))
			replay = append(replay, at("DELETED", "a", gone))
			f.put(newPod("a", "y", "y"))
			f.remove(newPod("a", "y", "y"))
			replay = append(replay, at("ADDED", "b", f.put(newPod("b", "x", "x"))))
			replay = append(replay, at("DELETED", "b", f.remove(newPod("b", "x", "x"))))
			var got []string
			for len(got) < len(replay) {
				events, err := w.Next(f.ctx)
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range events {
					if pod := e.Entry.Object().(*v1.Pod); pod.Spec.NodeName != "x" || e.Entry.Labels["app"] != "x" {
						t.Errorf("%s shows a state that is not the watcher's", describe([]Event{e}))
					}
				}
				got = append(got, describe(events)...)
			}
			if diff := cmp.Diff(replay, got); diff != "" {
				t.Errorf("live: %s", diff)
			}
			if diff := cmp.Diff(replay, f.next(f.watch(opts))); diff != "" {
				t.Errorf("from the ring: %s", diff)
			}
		})
	}
}

func TestSlowWatcherIsEnded(t *testing.T) {
	for name, limit := range map[string]func(cfg *Config){
		"events": func(cfg *Config) { cfg.WatcherBuffer = 3 },
		"bytes":  func(cfg *Config) { cfg.WatcherBytes = 3*newPod("p0", "", "").Size() + 1 },
	} {
		t.Run(name, func(t *testing.T) { testSlowWatcher(t, limit) })
	}
}

// testSlowWatcher has room for three events.
func testSlowWatcher(t *testing.T, limit func(cfg *Config)) {
	t.Helper()
	f := newFixture(t, limit)
	slow, other := f.watch(WatchOptions{}), f.watch(WatchOptions{Key: prefix + "default/z"})
	var want []string
	for i := range 5 {
		revision := f.put(newPod(fmt.Sprint("p", i), "", ""))
		f.catchUp(revision)
		if i < 3 {
			want = append(want, at("ADDED", fmt.Sprint("p", i), revision))
		}
	}
	if diff := cmp.Diff(want, f.next(slow)); diff != "" {
		t.Error(diff)
	}
	if _, err := slow.Next(f.ctx); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v", err)
	}
	revision := f.put(newPod("z", "", ""))
	if diff := cmp.Diff([]string{at("ADDED", "z", revision)}, f.next(other)); diff != "" {
		t.Error(diff)
	}
}

func TestLargeBacklogComesInPieces(t *testing.T) {
	f := newFixture(t)
	const count = backlogChunk + 10
	for i := range count {
		f.put(newPod(fmt.Sprintf("p%05d", i), "", ""))
	}
	w := f.watch(WatchOptions{})
	var got []string
	for len(got) < count {
		events := f.next(w)
		if len(events) > backlogChunk {
			t.Errorf("%d at once", len(events))
		}
		if f.ledger.Idle() {
			t.Error("idle while the backlog is being read")
		}
		got = append(got, events...)
	}
}

func TestWatchersEndWithTheStoresWatch(t *testing.T) {
	f := newFixture(t)
	first := f.put(newPod("a", "", ""))
	w := f.watch(WatchOptions{Revision: first})
	second := f.put(newPod("b", "", ""))
	f.catchUp(second)
	f.store.breakWatches(&store.CompactedError{Compacted: 5})
	if diff := cmp.Diff([]string{at("ADDED", "b", second)}, f.next(w)); diff != "" {
		t.Error(diff)
	}
	if _, err := w.Next(f.ctx); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v", err)
	}
	third := f.put(newPod("c", "", ""))
	list, err := f.cache.List(f.ctx, ListOptions{Prefix: prefix, Match: NotOlderThan, Revision: third})
	if err != nil || len(list.Entries) != 3 {
		t.Fatalf("%v, %v", list, err)
	}
	if _, err := f.cache.Watch(f.ctx, WatchOptions{Prefix: prefix, Revision: first}); !apierrors.IsResourceExpired(err) {
		t.Errorf("a watch from before the new list: %v", err)
	}
}

// TestUnavailableStore checks that readers get an error immediately and that the cache
// retries on the real clock.
func TestUnavailableStore(t *testing.T) {
	f := newFixture(t)
	f.put(newPod("a", "", ""))
	f.catchUp(0)
	unavailable := &store.UnavailableError{Err: errors.New("down")}
	f.store.failLists(unavailable)
	f.store.breakWatches(unavailable)
	for {
		if _, err := f.cache.List(f.ctx, ListOptions{Prefix: prefix}); errors.Is(err, unavailable) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	lists := f.store.listed()
	f.store.failLists(nil)
	for {
		list, err := f.cache.List(f.ctx, ListOptions{Prefix: prefix})
		if err == nil && len(list.Entries) == 1 {
			break
		}
		if f.ctx.Err() != nil {
			t.Fatal(err)
		}
	}
	if f.store.listed() == lists {
		t.Error("the store was not listed again")
	}
}

func TestCloseEndsWatchers(t *testing.T) {
	f := newFixture(t)
	w := f.watch(WatchOptions{SendInitialEvents: ptr.To(false), Bookmarks: true})
	f.cache.Close()
	if _, err := w.Next(f.ctx); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v", err)
	}
	if _, err := f.cache.Watch(f.ctx, WatchOptions{Prefix: prefix}); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v", err)
	}
}
