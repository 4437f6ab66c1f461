package encodings_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/encodings"
	"minikcm.dev/minikcm/apiserver/internal/watchcache"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/store"
)

const prefix = "/registry/configmaps/"

// cached is a cache whose values are not objects.
type cached struct {
	*testing.T
	store store.Store
	cache *watchcache.Cache
}

func newCached(t *testing.T) *cached {
	c := &cached{T: t, store: store.NewMemory()}
	c.cache = watchcache.New(watchcache.Config{
		Store: c.store, Prefix: prefix, Clock: clock.Real(),
		Decode: func(kv store.KeyValue) (runtime.Object, error) {
			return &v1.ConfigMap{Data: map[string]string{"v": string(kv.Value)}}, nil
		},
		Attrs:        func(runtime.Object) (labels.Set, fields.Fields) { return nil, fields.Set(nil) },
		WithRevision: func(obj runtime.Object, _ int64) runtime.Object { return obj },
	})
	t.Cleanup(func() {
		c.cache.Close()
		if err := c.store.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// put writes a value and returns the entries of the new state.
func (c *cached) put(name, value string) []*watchcache.Entry {
	c.Helper()
	expected := int64(0)
	if kv, err := c.store.Get(c.Context(), prefix+name, 0); err == nil {
		expected = kv.ModRevision
	}
	if _, err := c.store.Put(c.Context(), prefix+name, []byte(value), expected); err != nil {
		c.Fatal(err)
	}
	list, err := c.cache.List(c.Context(), watchcache.ListOptions{Prefix: prefix, Match: watchcache.Consistent})
	if err != nil {
		c.Fatal(err)
	}
	return list.Entries
}

// list encodes the entries' values and returns how many it had to encode.
func list(t *testing.T, kept *encodings.Kept, form string, entries []*watchcache.Entry, compressed bool) (encoded int) {
	t.Helper()
	runs := kept.Of(form, entries)
	for i := 0; i < len(entries); {
		end := runs.End(i)
		var want strings.Builder
		for _, e := range entries[i:end] {
			want.WriteString(e.Object().(*v1.ConfigMap).Data["v"])
		}
		encode := func() ([]byte, error) {
			encoded += end - i
			return []byte(want.String()), nil
		}
		if n, ok := runs.Len(i, end); ok && n != want.Len() {
			t.Fatalf("the length of a run is %d, want %d", n, want.Len())
		}
		if compressed {
			if part, err := runs.Compressed(i, end, encode); err != nil || part.Len() != want.Len() {
				t.Fatalf("%d bytes of %d: %v", part.Len(), want.Len(), err)
			}
		} else if got, err := runs.Plain(i, end, encode); err != nil || string(got) != want.String() {
			t.Fatalf("%.100s, want %.100s: %v", got, want.String(), err)
		}
		i = end
	}
	return encoded
}

// A run is kept from the second list on. After a change, only the runs beside it are encoded.
func TestRunsAreKept(t *testing.T) {
	c := newCached(t)
	var entries []*watchcache.Entry
	for i := range 1000 {
		entries = c.put(fmt.Sprintf("%04d", i), strconv.Itoa(i))
	}
	kept := encodings.New(0)
	for _, compressed := range []bool{false, true} {
		for try, want := range []int{1000, 1000, 0, 0} {
			if got := list(t, kept, "a", entries, compressed); got != want {
				t.Errorf("list %d encodes %d objects, want %d", try, got, want)
			}
		}
	}
	if got := list(t, kept, "b", entries, false); got != 1000 {
		t.Errorf("another form shares %d objects", 1000-got)
	}
	for _, name := range []string{"0500", "0500a"} { // a change, and an insertion
		entries = c.put(name, "changed")
		if got := list(t, kept, "a", entries, true); got == 0 || got > 300 {
			t.Errorf("after a write of %s, %d objects are encoded", name, got)
		}
	}
	if got := list(t, kept, "a", entries[10:], false); got == 0 || got > 300 {
		t.Errorf("without the first, %d objects are encoded", got)
	}
	kept.Trim()
	if kept.Bytes() != 0 || list(t, kept, "a", entries, true) != len(entries) {
		t.Errorf("%d bytes are kept", kept.Bytes())
	}
}

// What is kept has a limit; what exceeds it is encoded each time.
func TestKeptIsLimited(t *testing.T) {
	c := newCached(t)
	var entries []*watchcache.Entry
	for i := range 100 {
		entries = c.put(fmt.Sprintf("%04d", i), strings.Repeat("x", 40_000))
	}
	entries = c.put("large", strings.Repeat("x", 400_000))
	kept := encodings.New(16 << 20)
	if kept.Limit() != 1<<20 {
		t.Fatalf("the limit is %d", kept.Limit())
	}
	var lists sync.WaitGroup
	for range 4 {
		lists.Go(func() {
			for try := range 8 {
				list(t, kept, strconv.Itoa(try%3), entries, try%2 == 0)
			}
		})
	}
	lists.Wait()
	if kept.Bytes() > kept.Limit() || kept.Bytes() < kept.Limit()/2 {
		t.Errorf("%d bytes of %d are kept", kept.Bytes(), kept.Limit())
	}
	if encodings.New(1<<40).Limit() != 256<<20 || encodings.New(0).Limit() == 0 {
		t.Error("the limit of a large process")
	}
}

func TestErrorsAreNotKept(t *testing.T) {
	c := newCached(t)
	entries := c.put("a", "x")
	kept, broken := encodings.New(0), errors.New("broken")
	fail := func() ([]byte, error) { return nil, broken }
	for range 3 {
		if _, err := kept.Of("a", entries).Plain(0, 1, fail); !errors.Is(err, broken) {
			t.Error(err)
		}
		if _, err := kept.Of("a", entries).Compressed(0, 1, fail); !errors.Is(err, broken) {
			t.Error(err)
		}
	}
}
