package watchcache

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
)

func TestEncodedOncePerForm(t *testing.T) {
	entry := &Entry{object: newPod("a", "", "")}
	var calls atomic.Int32
	encode := func(runtime.Object) ([]byte, error) {
		return fmt.Append(nil, calls.Add(1)), nil
	}
	var readers sync.WaitGroup
	for range 8 {
		readers.Go(func() {
			for _, form := range []string{"json", "protobuf"} {
				if _, err := entry.Encoded(form, encode); err != nil {
					t.Error(err)
				}
			}
		})
	}
	readers.Wait()
	if calls.Load() != 2 {
		t.Errorf("encoded %d times", calls.Load())
	}
}

func TestEncodedForgetsErrors(t *testing.T) {
	entry := &Entry{}
	broken := errors.New("broken")
	if _, err := entry.Encoded("json", func(runtime.Object) ([]byte, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Error(err)
	}
	bytes, err := entry.Encoded("json", func(runtime.Object) ([]byte, error) { return []byte("x"), nil })
	if err != nil || string(bytes) != "x" {
		t.Errorf("%q, %v", bytes, err)
	}
}

// TestSharedUntilReplaced converts an entry once for all receivers of one form, as long as it is the newest.
func TestSharedUntilReplaced(t *testing.T) {
	entry := &Entry{object: newPod("a", "", "")}
	form := runtime.Object.DeepCopyObject
	first := entry.Shared("v1", form)
	if entry.Shared("v1", form) != first {
		t.Error("the form is made again")
	}
	if entry.Shared("v2", form) == first {
		t.Error("another form is the same object")
	}
	entry.replace()
	if second := entry.Shared("v1", form); second == first || entry.Shared("v1", form) == second {
		t.Error("a replaced entry keeps its form")
	}
}

func TestRing(t *testing.T) {
	start := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		what     string
		max      int
		maxBytes int
		age      time.Duration
		add      int // number of changes, one a second, with the revisions 1, 2, ...
		floor    int64
		after    int64
		wantLen  int
		wantHead int64
	}{
		{"empty", 4, 0, -1, 0, 0, 0, 0, 0},
		{"not full", 100, 0, -1, 70, 0, 0, 70, 1},
		{"full", 100, 0, -1, 100, 0, 98, 2, 99},
		{"over full", 100, 0, -1, 250, 150, 150, 100, 151},
		{"not a power of two", 70, 0, -1, 200, 130, 199, 1, 200},
		{"aged", 10000, 0, time.Minute, 2000, 2000 - minRing, 2000 - minRing, minRing, 2001 - minRing},
		{"aged with more than the least", 10000, 0, 10 * time.Minute, 2000, 1399, 1399, 601, 1400},
		{"of many bytes", 100, 1000, -1, 50, 40, 40, 10, 41},
		{"of one that is too large", 100, 99, -1, 50, 49, 49, 1, 50},
	} {
		t.Run(test.what, func(t *testing.T) {
			r := ring{max: test.max, maxBytes: test.maxBytes, age: test.age}
			for i := range test.add {
				entry := &Entry{}
				if test.maxBytes > 0 {
					entry.size = 100
				}
				r.add(&change{revision: int64(i + 1), entry: entry, at: start.Add(time.Duration(i) * time.Second)})
			}
			if r.floor != test.floor {
				t.Errorf("floor %d, want %d", r.floor, test.floor)
			}
			got := r.after(test.after)
			if len(got) != test.wantLen || len(got) > 0 && got[0].revision != test.wantHead {
				t.Errorf("%d changes from %+v", len(got), got)
			}
		})
	}
}

// Changes end by their age without a newer change.
func TestRingExpires(t *testing.T) {
	begin := time.Unix(0, 0)
	r := ring{max: 1000, age: time.Minute, maxBytes: 10_000}
	for i := range 300 {
		r.add(&change{revision: int64(i + 1), at: begin, entry: &Entry{size: 10}})
	}
	r.expire(begin.Add(time.Minute))
	if r.count != 300 || r.bytes != 3000 {
		t.Errorf("within the age: %d changes of %d bytes", r.count, r.bytes)
	}
	r.expire(begin.Add(time.Minute + 1))
	if r.count != minRing || r.floor != 300-minRing || r.bytes != 10*minRing {
		t.Errorf("beyond the age: %d changes of %d bytes after revision %d", r.count, r.bytes, r.floor)
	}
}

func TestPending(t *testing.T) {
	var p pending
	announce := func(name string) *Write {
		w := &Write{key: "key", value: []byte("x"), obj: newPod(name, "", "")}
		p.add(w)
		return w
	}
	a := announce("a")
	announce("b")
	if p.take("key", []byte("y")) != nil || p.take("other", []byte("x")) != nil {
		t.Error("took an object that no process wrote")
	}
	if p.take("key", []byte("x")) != a {
		t.Error("did not take the first")
	}
	// A lost against B, which wrote the same bytes: no further event will arrive.
	p.forget(a)
	if p.take("key", []byte("x")) != nil || p.count != 0 || len(p.writes) != 0 {
		t.Errorf("%d left", p.count)
	}
	p.add(a)
	p.clear()
	p.forget(a)
	if p.count != 0 {
		t.Errorf("%d left after clear", p.count)
	}
}

func TestPendingIsBounded(t *testing.T) {
	var p pending
	for i := range maxPending + 10 {
		p.add(&Write{key: fmt.Sprint(i)})
	}
	if p.count != maxPending {
		t.Errorf("%d writes", p.count)
	}
}

// A packed entry decodes a copy for each reader, also in the event of its deletion.
func TestPacked(t *testing.T) {
	f := newFixture(t, func(cfg *Config) { cfg.Packed = packedPod })
	w := f.watch(WatchOptions{Prefix: prefix})
	pod := newPod("web", "a", "n")
	written := f.put(pod)
	if got, want := f.next(w), at("ADDED", "web", written); len(got) != 1 || got[0] != want {
		t.Errorf("%v, want %s", got, want)
	}
	entry, _, err := f.cache.Get(f.ctx, f.key(pod), written)
	if err != nil {
		t.Fatal(err)
	}
	if entry.object != nil || entry.Object() == entry.Object() || entry.Labels["app"] != "a" || entry.Fields.Get("spec.nodeName") != "n" {
		t.Errorf("%+v", entry)
	}
	removed := f.remove(pod)
	if got, want := f.next(w), at("DELETED", "web", removed); len(got) != 1 || got[0] != want {
		t.Errorf("%v, want %s", got, want)
	}
}
