package live

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/store"
)

// lamp is a state with one object.
type lamp struct {
	on      bool
	applied int
	refuse  error
	// version is the version of its object, and note a part of the status.
	version uint64
	note    string
}

func (l *lamp) Now() []Object {
	status := map[string]any{"bright": l.on}
	if l.note != "" {
		status["note"] = l.note
	}
	return []Object{{Name: "lamp", Spec: map[string]bool{"on": l.on}, Status: status, Version: l.version}}
}

func (l *lamp) Apply(_ context.Context, _ string, spec []byte, dryRun bool) error {
	if l.refuse != nil || dryRun {
		return l.refuse
	}
	var wanted struct{ On bool }
	if err := json.Unmarshal(spec, &wanted); err != nil {
		return err
	}
	l.on = wanted.On
	l.applied++
	return nil
}

func (l *lamp) Changed() <-chan struct{} { return nil }

func newLampStore(t *testing.T, l *lamp) *Store {
	t.Helper()
	s, err := NewStore(t.Context(), Options{
		Objects: l, APIVersion: "v1", KindName: "Lamp", Key: func(name string) string { return "/lamps/" + name },
		UID: func(name string) types.UID { return types.UID(name) }, Now: func() metav1.Time { return metav1.Time{} },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func read(t *testing.T, s *Store) (*object, *store.KeyValue) {
	t.Helper()
	kv, err := s.Get(t.Context(), "/lamps/lamp", 0)
	if err != nil {
		t.Fatal(err)
	}
	o := &object{}
	if err := json.Unmarshal(kv.Value, o); err != nil {
		t.Fatal(err)
	}
	return o, kv
}

// put writes an object with another spec.
func put(t *testing.T, s *Store, spec string, expected int64) error {
	t.Helper()
	o, _ := read(t, s)
	o.Spec = json.RawMessage(spec)
	value, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Put(t.Context(), "/lamps/lamp", value, expected)
	return err
}

// A put applies the spec if it changes it, and nothing else does.
func TestPut(t *testing.T) {
	l := &lamp{}
	s := newLampStore(t, l)
	_, kv := read(t, s)
	if err := put(t, s, `{"on":true}`, kv.ModRevision-1); !errors.As(err, new(*store.ConflictError)) || l.applied > 0 {
		t.Errorf("a put of another revision: %v, applied %d times", err, l.applied)
	}
	if err := put(t, s, `{ "on": false }`, kv.ModRevision); err != nil || l.applied > 0 {
		t.Errorf("the same spec: %v, applied %d times", err, l.applied)
	}
	_, kv = read(t, s)
	l.refuse = errors.New("the fuse has blown")
	if err := put(t, s, `{"on":true}`, kv.ModRevision); !errors.Is(err, l.refuse) {
		t.Errorf("a state that cannot be applied: %v", err)
	}
	if _, now := read(t, s); now.ModRevision != kv.ModRevision {
		t.Error("it has been written")
	}
	if err := s.DryPut(t.Context(), "/lamps/lamp", []byte(`{"metadata":{"name":"lamp"},"spec":{"on":true}}`), kv.ModRevision); !errors.Is(err, l.refuse) {
		t.Errorf("a dry run of it: %v", err)
	}
	l.refuse = nil
	if err := s.DryPut(t.Context(), "/lamps/lamp", []byte(`{"metadata":{"name":"lamp"},"spec":{"on":true}}`), kv.ModRevision); err != nil || l.on {
		t.Errorf("a dry run of what can be applied: %v, on: %v", err, l.on)
	}
	if err := put(t, s, `{"on":true}`, kv.ModRevision); err != nil || !l.on {
		t.Errorf("on: %v, %+v", err, l)
	}
}

// A refresh writes what has changed by itself, and only then; a changed spec is a new generation.
func TestRefresh(t *testing.T) {
	l := &lamp{}
	s := newLampStore(t, l)
	before, kv := read(t, s)
	if string(before.Status) != `{"bright":false}` || before.Metadata.Generation != 1 || len(before.Metadata.ManagedFields) != 1 {
		t.Errorf("at first it is %+v", before)
	}
	if err := s.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, now := read(t, s); now.ModRevision != kv.ModRevision {
		t.Error("what has not changed is written")
	}
	l.on = true
	if err := s.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after, _ := read(t, s); string(after.Spec) != `{"on":true}` || string(after.Status) != `{"bright":true}` || after.Metadata.Generation != 2 || after.Metadata.UID != before.Metadata.UID {
		t.Errorf("on, it is %+v", after)
	}
	for range 5 * keptRevisions {
		l.on = !l.on
		if err := s.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.List(t.Context(), "/lamps/", store.ListOptions{Revision: 10}); err == nil {
		t.Error("all history is kept")
	}
	if l.applied > 0 {
		t.Error("a refresh has applied something")
	}
}

// An object whose version is unchanged is not looked at. Large objects are kept for fewer revisions.
func TestVersions(t *testing.T) {
	l := &lamp{version: 1}
	s := newLampStore(t, l)
	_, before := read(t, s)
	l.on = true
	if err := s.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, now := read(t, s); now.ModRevision != before.ModRevision {
		t.Error("an object of the same version is written")
	}
	l.note = strings.Repeat("x", keptBytes/4)
	for range 12 {
		l.version++
		l.on = !l.on
		if err := s.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	_, now := read(t, s)
	if now.ModRevision < before.ModRevision+12 {
		t.Errorf("after 12 changes it has revision %d, before %d", now.ModRevision, before.ModRevision)
	}
	if _, err := s.List(t.Context(), "/lamps/", store.ListOptions{Revision: before.ModRevision + 1}); err == nil {
		t.Error("all large objects are kept")
	}
}
