package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"minikcm.dev/minikcm/store"
)

// RunModel applies the same random operations to a store and to a model of it, and
// checks that both return the same results, including revisions. The functions return
// new, empty stores, which RunModel closes.
func RunModel(t *testing.T, open, openModel func() (store.Store, error)) {
	rapid.Check(t, func(t *rapid.T) {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		m := &twins{t: t}
		for i, open := range []func() (store.Store, error){open, openModel} {
			s, err := open()
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}()
			m.stores[i] = s
		}
		random := func(do func(context.Context, *rapid.T)) func(*rapid.T) {
			return func(t *rapid.T) { do(ctx, t) }
		}
		t.Repeat(map[string]func(*rapid.T){
			"put":     random(m.put),
			"delete":  random(m.remove),
			"get":     random(m.get),
			"list":    random(m.list),
			"watch":   random(m.watch),
			"compact": random(m.compact),
			"drain":   func(*rapid.T) { m.drain(ctx) },
			"": func(*rapid.T) {
				_, _ = m.both("revision", func(s store.Store) (any, error) { return s.Revision(ctx) })
			},
		})
		m.drain(ctx)
	})
}

// twins are a store and its model.
type twins struct {
	t         *rapid.T
	stores    [2]store.Store
	newest    int64
	revisions map[string]int64
	watches   []twinWatch
}

// twinWatch is the same watch on both stores.
type twinWatch struct {
	watches [2]store.Watch
	streams [2]*Stream
}

// both runs an operation on both stores and compares the results.
func (m *twins) both(what string, do func(store.Store) (any, error)) (any, error) {
	var results [2]any
	var errs [2]error
	for i, s := range m.stores {
		results[i], errs[i] = do(s)
	}
	if diff := cmp.Diff(results[1], results[0], cmpopts.EquateEmpty()); diff != "" {
		m.t.Fatalf("%s: model (-), store (+):\n%s", what, diff)
	}
	if !sameError(errs[0], errs[1]) {
		m.t.Fatalf("%s: the store's error is %v, the model's is %v", what, errs[0], errs[1])
	}
	return results[0], errs[0]
}

func sameError(a, b error) bool {
	return errors.Is(a, store.ErrNotFound) == errors.Is(b, store.ErrNotFound) &&
		cmp.Equal(as[*store.ConflictError](a), as[*store.ConflictError](b)) &&
		cmp.Equal(as[*store.FutureRevisionError](a), as[*store.FutureRevisionError](b)) &&
		cmp.Equal(as[*store.CompactedError](a), as[*store.CompactedError](b)) &&
		(a == nil) == (b == nil)
}

func as[E error](err error) (target E) {
	errors.As(err, &target)
	return target
}

var (
	modelKeys     = rapid.SampledFrom([]string{"/a", "/a/1", "/a/2", "/a/3", "/b/1", "/b/2", "\xff", "\x00"})
	modelPrefixes = rapid.SampledFrom([]string{"", "/", "/a", "/a/", "/b/", "\xff"})
)

// expectation returns the key's revision, most of the time.
func (m *twins) expectation(t *rapid.T, key string) int64 {
	if rapid.IntRange(0, 9).Draw(t, "luck") > 0 {
		return m.revisions[key]
	}
	return rapid.Int64Range(-1, m.newest+1).Draw(t, "expected")
}

func (m *twins) note(key string, revision any, err error, exists bool) {
	if err != nil {
		return
	}
	if m.revisions == nil {
		m.revisions = map[string]int64{}
	}
	m.newest = revision.(int64)
	m.revisions[key] = m.newest
	if !exists {
		delete(m.revisions, key)
	}
}

func (m *twins) put(ctx context.Context, t *rapid.T) {
	key := modelKeys.Draw(t, "key")
	value := rapid.SliceOfN(rapid.Byte(), 0, 3).Draw(t, "value")
	expected := m.expectation(t, key)
	revision, err := m.both("put", func(s store.Store) (any, error) { return s.Put(ctx, key, value, expected) })
	m.note(key, revision, err, true)
}

func (m *twins) remove(ctx context.Context, t *rapid.T) {
	key := modelKeys.Draw(t, "key")
	expected := m.expectation(t, key)
	revision, err := m.both("delete", func(s store.Store) (any, error) { return s.Delete(ctx, key, expected) })
	m.note(key, revision, err, false)
}

func (m *twins) get(ctx context.Context, t *rapid.T) {
	key := modelKeys.Draw(t, "key")
	revision := rapid.Int64Range(0, m.newest+1).Draw(t, "revision")
	_, _ = m.both("get", func(s store.Store) (any, error) { return s.Get(ctx, key, revision) })
}

func (m *twins) list(ctx context.Context, t *rapid.T) {
	prefix := modelPrefixes.Draw(t, "prefix")
	opts := store.ListOptions{
		Revision: rapid.Int64Range(0, m.newest+1).Draw(t, "revision"),
		Limit:    rapid.Int64Range(0, 3).Draw(t, "limit"),
		From:     rapid.OneOf(rapid.Just(""), modelKeys).Draw(t, "from"),
		KeysOnly: rapid.Bool().Draw(t, "keysOnly"),
	}
	_, _ = m.both("list", func(s store.Store) (any, error) { return s.List(ctx, prefix, opts) })
}

// watch starts a watch on both stores that stays open; drain compares the events of the two.
func (m *twins) watch(ctx context.Context, t *rapid.T) {
	prefix := modelPrefixes.Draw(t, "prefix")
	from := rapid.Int64Range(2, max(m.newest, 1)+1).Draw(t, "from")
	var w twinWatch
	i := 0
	_, err := m.both("watch", func(s store.Store) (_ any, err error) {
		w.watches[i], err = s.Watch(ctx, prefix, from)
		w.streams[i] = &Stream{Prefix: prefix, From: from}
		i++
		return nil, err
	})
	if err == nil {
		m.watches = append(m.watches, w)
	}
}

// drain reads all watches up to the newest revision.
func (m *twins) drain(ctx context.Context) {
	for _, s := range m.stores {
		if err := s.RequestProgress(ctx, ""); err != nil {
			m.t.Fatal(err)
		}
	}
	for _, w := range m.watches {
		for i, stream := range w.streams {
			if err := readProgress(ctx, w.watches[i], stream, m.newest); err != nil {
				m.t.Fatal(err)
			}
		}
		if diff := cmp.Diff(withoutProgress(w.streams[1].Events), withoutProgress(w.streams[0].Events)); diff != "" {
			m.t.Fatalf("watch of %q from %d: model (-), store (+):\n%s", w.streams[0].Prefix, w.streams[0].From, diff)
		}
	}
}

// readProgress reads until the watch has delivered progress up to revision.
func readProgress(ctx context.Context, w store.Watch, stream *Stream, revision int64) error {
	for {
		select {
		case batch, ok := <-w.Batches():
			if !ok {
				return fmt.Errorf("the watch of %q ended at revision %d: %w", stream.Prefix, stream.Reached(), w.Err())
			}
			stream.Add(batch)
			if len(batch.Events) == 0 && batch.Revision >= revision {
				return nil
			}
		case <-ctx.Done():
			return fmt.Errorf("waiting for progress to %d of the watch of %q at %d: %w", revision, stream.Prefix, stream.Reached(), ctx.Err())
		}
	}
}

// withoutProgress removes the parts that may differ between implementations: progress events and
// delivery numbers.
func withoutProgress(events []Event) []Event {
	changes := slices.Clone(events)
	changes = slices.DeleteFunc(changes, func(e Event) bool { return e.Type == Progress })
	for i := range changes {
		changes[i].Delivery = 0
	}
	return changes
}

// compact drains first, because events that a watch has not delivered yet may be
// compacted.
func (m *twins) compact(ctx context.Context, t *rapid.T) {
	m.drain(ctx)
	revision := rapid.Int64Range(0, m.newest+1).Draw(t, "revision")
	_, _ = m.both("compact", func(s store.Store) (any, error) { return nil, s.Compact(ctx, revision) })
}
