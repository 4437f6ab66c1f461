package watchcache

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"
)

func TestLedgerCountsFromWriteToDelivery(t *testing.T) {
	f := newFixture(t)
	w := f.watch(WatchOptions{SendInitialEvents: ptr.To(false)})
	idle := func(want bool, when string) {
		t.Helper()
		if f.ledger.Idle() != want {
			t.Errorf("%s: in flight: %s", when, f.ledger)
		}
	}
	idle(true, "at first")
	release := f.store.hold()
	revision := f.put(newPod("a", "", ""))
	idle(false, "written, not dispatched")
	release()
	f.catchUp(revision)
	idle(false, "dispatched, not read")
	f.next(w)
	idle(false, "read, not dealt with")
	if events, err := queued(w); len(events) != 0 || err != nil {
		t.Fatalf("%v, %v", events, err)
	}
	idle(true, "dealt with")

	f.catchUp(f.remove(newPod("a", "", "")))
	idle(false, "deleted")
	w.Stop()
	idle(true, "stopped")

	w = f.watch(WatchOptions{})
	idle(false, "a state is to be seen, even if it is empty")
	w.Stop()
	idle(true, "stopped unread")
}

func TestLedgerForgetsWhatABrokenWatchOwes(t *testing.T) {
	f := newFixture(t)
	f.catchUp(0)
	release := f.store.hold()
	f.put(newPod("a", "", ""))
	f.store.failLists(errors.New("down"))
	release()
	f.store.breakWatches(errors.New("down"))
	if err := f.ledger.WaitIdle(f.ctx); err != nil {
		t.Error(err)
	}
}

func TestWritesAreNotDecoded(t *testing.T) {
	f := newFixture(t)
	f.catchUp(0)
	pod := newPod("a", "x", "")
	f.catchUp(f.put(pod))
	entry, revision, err := f.cache.Get(f.ctx, f.key(pod), 0)
	if err != nil || entry.Revision != revision || f.decoded() != 0 {
		t.Fatalf("%+v, %v, %d decoded", entry, err, f.decoded())
	}
	if got := describe([]Event{{Type: "ADDED", Entry: entry}}); got[0] != at("ADDED", "a", revision) {
		t.Error(got)
	}
	if pod.ResourceVersion != "" {
		t.Error("the writer's object was changed")
	}
}

func TestBookmarks(t *testing.T) {
	f := newFixture(t)
	first := f.put(newPod("a", "", ""))
	w := f.watch(WatchOptions{Revision: first, Bookmarks: true})
	without := f.watch(WatchOptions{Revision: first})
	advance := func() {
		t.Helper()
		if err := f.clock.Advance(f.ctx, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	advance()
	if events, err := queued(w); len(events) != 0 || err != nil {
		t.Fatalf("nothing has changed: %v, %v", describe(events), err)
	}
	// A write to another prefix is progress too.
	elsewhere, err := f.store.Put(f.ctx, "/registry/other/a", []byte("x"), 0)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := f.clock.Advance(f.ctx, time.Minute); err != nil {
			t.Error(err)
		}
	}()
	if diff := cmp.Diff([]string{at("BOOKMARK", "", elsewhere)}, f.next(w)); diff != "" {
		t.Error(diff)
	}
	if events, err := queued(w); len(events) != 0 || err != nil {
		t.Fatalf("%v, %v", describe(events), err)
	}
	<-done
	if events, err := queued(without); len(events) != 0 || err != nil {
		t.Fatalf("did not ask for bookmarks: %v, %v", describe(events), err)
	}
	w.Stop()
	f.cache.mu.Lock()
	defer f.cache.mu.Unlock()
	if f.cache.bookmarkTimer != nil {
		t.Error("the timer is set although no watcher wants bookmarks")
	}
}
