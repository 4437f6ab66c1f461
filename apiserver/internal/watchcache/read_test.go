package watchcache

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

func names(list *List) []string {
	var names []string
	for _, e := range list.Entries {
		names = append(names, strings.TrimPrefix(e.Key, prefix))
	}
	return names
}

func TestNothingStartsBeforeFirstUse(t *testing.T) {
	f := newFixture(t)
	f.put(newPod("a", "", ""))
	f.cache.Close()
	if f.store.listed() != 0 {
		t.Error("the store was listed")
	}
	if _, _, err := f.cache.Get(f.ctx, prefix+"default/a", 0); !errors.Is(err, ErrClosed) {
		t.Errorf("Get after Close: %v", err)
	}
}

func TestGet(t *testing.T) {
	f := newFixture(t)
	first := f.put(newPod("a", "", ""))
	entry, revision, err := f.cache.Get(f.ctx, prefix+"default/a", 0)
	if err != nil || entry == nil || entry.Revision != first || revision != first {
		t.Fatalf("got %v at %d, %v", entry, revision, err)
	}
	second := f.put(newPod("a", "x", ""))
	entry, revision, err = f.cache.Get(f.ctx, prefix+"default/a", second)
	if err != nil || entry.Revision != second || revision != second || entry.Labels["app"] != "x" {
		t.Fatalf("got %v at %d, %v", entry, revision, err)
	}
	if entry, _, err := f.cache.Get(f.ctx, prefix+"default/b", 0); entry != nil || err != nil {
		t.Errorf("a missing key: %v, %v", entry, err)
	}
}

func TestFutureRevisionIsTooLarge(t *testing.T) {
	f := newFixture(t)
	now := f.put(newPod("a", "", ""))
	check := func(what string, err error) {
		t.Helper()
		var status apierrors.APIStatus
		if !apierrors.IsTimeout(err) || !apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) || !errors.As(err, &status) {
			t.Fatalf("%s: %v", what, err)
		}
		if seconds := status.Status().Details.RetryAfterSeconds; seconds != 1 {
			t.Errorf("%s: retry after %d s", what, seconds)
		}
	}
	_, _, err := f.cache.Get(f.ctx, prefix+"default/a", now+1)
	check("Get", err)
	_, err = f.cache.List(f.ctx, ListOptions{Prefix: prefix, Match: NotOlderThan, Revision: now + 1})
	check("List", err)
	_, err = f.cache.List(f.ctx, ListOptions{Prefix: prefix, Match: Exact, Revision: now + 1})
	check("List", err)
	yes := true
	_, err = f.cache.Watch(f.ctx, WatchOptions{Prefix: prefix, Revision: now + 1, SendInitialEvents: &yes})
	check("Watch", err)
}

// A watch may start at a future revision: no events up to it are delivered.
func TestWatchFromTheFuture(t *testing.T) {
	f := newFixture(t)
	now := f.put(newPod("a", "", ""))
	w, err := f.cache.Watch(f.ctx, WatchOptions{Prefix: prefix, Revision: now + 1})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	f.put(newPod("b", "", ""))
	last := f.put(newPod("c", "", ""))
	events, err := w.Next(f.ctx)
	if err != nil || len(events) != 1 || events[0].Entry.Revision != last {
		t.Fatalf("%v %v", events, err)
	}
}

func TestReadersWaitForTheCache(t *testing.T) {
	f := newFixture(t)
	f.put(newPod("a", "", ""))
	f.catchUp(0)
	release := f.store.hold()
	now := f.put(newPod("b", "", ""))
	ctx, cancel := context.WithCancel(f.ctx)
	cancel()
	for _, match := range []RevisionMatch{NotOlderThan, Consistent} {
		if _, err := f.cache.List(ctx, ListOptions{Prefix: prefix, Match: match, Revision: now}); !errors.Is(err, context.Canceled) {
			t.Errorf("match %d: %v", match, err)
		}
	}
	list, err := f.cache.List(f.ctx, ListOptions{Prefix: prefix})
	if err != nil || len(list.Entries) != 1 || list.Revision != now-1 {
		t.Errorf("any: %v, %v", list, err)
	}
	release()
	list, err = f.cache.List(f.ctx, ListOptions{Prefix: prefix, Match: Consistent})
	if err != nil || len(list.Entries) != 2 || list.Revision < now {
		t.Errorf("consistent: %v, %v", list, err)
	}
}

func TestConsistentSeesOthersWrites(t *testing.T) {
	f := newFixture(t)
	f.catchUp(0)
	// Written by another process, to another prefix: the cache receives no event.
	revision, err := f.store.Put(f.ctx, "/registry/other/a", []byte("x"), 0)
	if err != nil {
		t.Fatal(err)
	}
	list, err := f.cache.List(f.ctx, ListOptions{Prefix: prefix, Match: Consistent})
	if err != nil || list.Revision < revision {
		t.Fatalf("%v, %v: want at least %d", list, err, revision)
	}
	pod := newPod("a", "", "")
	value, _ := pod.Marshal()
	if _, err = f.store.Put(f.ctx, f.key(pod), value, 0); err != nil {
		t.Fatal(err)
	}
	list, err = f.cache.List(f.ctx, ListOptions{Prefix: prefix, Match: Consistent})
	if err != nil || len(list.Entries) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
}

func TestListSelects(t *testing.T) {
	f := newFixture(t)
	for _, name := range []string{"d", "b", "a", "c"} {
		pod := newPod(name, "x", "n1")
		if name == "b" {
			pod = newPod(name, "y", "n2")
		}
		f.put(pod)
	}
	other := newPod("z", "x", "n1")
	other.Namespace = "default-2"
	f.put(other)
	for _, test := range []struct {
		what string
		opts ListOptions
		want []string
		more bool
		next string
		left int64
	}{
		{what: "all", opts: ListOptions{Prefix: prefix}, want: []string{"default-2/z", "default/a", "default/b", "default/c", "default/d"}},
		{what: "namespace", opts: ListOptions{Prefix: prefix + "default/"}, want: []string{"default/a", "default/b", "default/c", "default/d"}},
		{what: "label", opts: ListOptions{Prefix: prefix + "default/", Label: labels.SelectorFromSet(labels.Set{"app": "x"})}, want: []string{"default/a", "default/c", "default/d"}},
		{what: "field", opts: ListOptions{Prefix: prefix, Field: fields.OneTermEqualSelector("spec.nodeName", "n2")}, want: []string{"default/b"}},
		{what: "everything", opts: ListOptions{Prefix: prefix + "default-2/", Label: labels.Everything(), Field: fields.Everything()}, want: []string{"default-2/z"}},
		{what: "nothing", opts: ListOptions{Prefix: prefix, Label: labels.Nothing()}},
		{what: "limit", opts: ListOptions{Prefix: prefix + "default/", Limit: 2}, want: []string{"default/a", "default/b"}, more: true, next: prefix + "default/b\x00", left: 2},
		{what: "limit is all", opts: ListOptions{Prefix: prefix + "default/", Limit: 4}, want: []string{"default/a", "default/b", "default/c", "default/d"}},
		{what: "from", opts: ListOptions{Prefix: prefix + "default/", From: prefix + "default/b\x00", Limit: 1}, want: []string{"default/c"}, more: true, next: prefix + "default/c\x00", left: 1},
	} {
		list, err := f.cache.List(f.ctx, test.opts)
		if err != nil {
			t.Errorf("%s: %v", test.what, err)
			continue
		}
		if diff := cmp.Diff(test.want, names(list)); diff != "" {
			t.Errorf("%s: %s", test.what, diff)
		}
		if list.More != test.more || list.NextKey != test.next || list.Remaining != test.left {
			t.Errorf("%s: more %v, next %q, %d left", test.what, list.More, list.NextKey, list.Remaining)
		}
	}
}

func TestExactRevision(t *testing.T) {
	f := newFixture(t)
	first := f.put(newPod("a", "", ""))
	f.catchUp(0)
	second := f.put(newPod("b", "", ""))
	elsewhere, err := f.store.Put(f.ctx, "/registry/other/a", []byte("x"), 0)
	if err != nil {
		t.Fatal(err)
	}
	f.catchUp(elsewhere)
	for revision, want := range map[int64]int{first: 1, second: 2, elsewhere: 2, elsewhere + 1: 0} {
		list, err := f.cache.List(f.ctx, ListOptions{Prefix: prefix, Match: Exact, Revision: revision})
		switch {
		case want > 0 && (err != nil || list.Revision != revision || len(list.Entries) != want || list.Past != (revision == first)):
			t.Errorf("%d: %v, %v", revision, list, err)
		case revision > elsewhere:
			if !apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
				t.Errorf("%d: %v", revision, err)
			}
		}
	}
	f.cache.Forget(elsewhere)
	if _, err := f.cache.List(f.ctx, ListOptions{Prefix: prefix, Match: Exact, Revision: first}); !errors.Is(err, ErrNotCached) {
		t.Errorf("a state whose changes are forgotten: %v", err)
	}
}

func TestListIsAPicture(t *testing.T) {
	f := newFixture(t)
	f.put(newPod("a", "", ""))
	before, err := f.cache.List(f.ctx, ListOptions{Prefix: prefix})
	if err != nil {
		t.Fatal(err)
	}
	f.put(newPod("b", "", ""))
	f.catchUp(f.remove(newPod("a", "", "")))
	if diff := cmp.Diff([]string{"default/a"}, names(before)); diff != "" {
		t.Error(diff)
	}
}

// Peek neither starts the cache nor waits.
func TestPeek(t *testing.T) {
	f := newFixture(t)
	f.put(newPod("a", "", ""))
	if entries, ok := f.cache.Peek(prefix); ok || entries != nil || f.store.listed() != 0 {
		t.Errorf("before the first use: %v, %t; the store was listed %d times", entries, ok, f.store.listed())
	}
	revision := f.put(newPod("b", "", ""))
	if _, _, err := f.cache.Get(f.ctx, prefix+"default/b", revision); err != nil {
		t.Fatal(err)
	}
	for below, want := range map[string]int{prefix: 2, prefix + "default/": 2, prefix + "other/": 0} {
		if entries, ok := f.cache.Peek(below); !ok || len(entries) != want {
			t.Errorf("below %s: %d, %t", below, len(entries), ok)
		}
	}
	f.cache.Close()
	if _, ok := f.cache.Peek(prefix); ok {
		t.Error("a closed cache has something")
	}
}
