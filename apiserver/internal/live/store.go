package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/store"
)

const (
	// watchInterval is the machine's time between two looks at the state while clients watch it, and
	// changesInterval the least time: the changes in between are one.
	watchInterval   = time.Second
	changesInterval = 100 * time.Millisecond
	// keptRevisions is how many revisions a watch may be behind, unless their objects have more than
	// keptBytes.
	keptRevisions = 100
	keptBytes     = 8 << 20
	// manager is the owner of the status.
	manager = "minikcm"
)

// Options configure a Store.
type Options struct {
	Objects Objects
	// Ticks says that the objects change with time alone, and Creates that Objects is a Creator.
	Ticks, Creates bool
	Resource       schema.GroupResource
	// APIVersion and KindName are the apiVersion and the kind of the objects.
	APIVersion, KindName string
	// Key returns the key of an object.
	Key func(name string) string
	// UID returns the UID of an object, and Now the time of its creation.
	UID func(name string) types.UID
	Now func() metav1.Time
}

// Store has the objects of a kind. Its writes change the state of the process.
type Store struct {
	*store.Memory
	opts Options

	// mu is held while an object is written.
	mu sync.Mutex
	// versions are the versions of the objects as they were shown last, by key.
	versions map[string]uint64
	// since is the revision at which the last compaction was made, and bytes counts what was written after it.
	since int64
	bytes int
	// watches is the number of watches, and watched is signaled when it is no longer 0.
	watches int
	watched chan struct{}
}

// NewStore returns a store with the objects as they are now.
func NewStore(ctx context.Context, o Options) (*Store, error) {
	s := &Store{Memory: store.NewMemory(), opts: o, versions: map[string]uint64{}, watched: make(chan struct{}, 1)}
	if err := s.Refresh(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// object is an object as it is stored.
type object struct {
	APIVersion string             `json:"apiVersion"`
	Kind       string             `json:"kind"`
	Metadata   *metav1.ObjectMeta `json:"metadata"`
	Spec       json.RawMessage    `json:"spec"`
	Status     json.RawMessage    `json:"status,omitempty"`
}

// Put applies the spec of an object, if it is new or changes, and writes the object.
func (s *Store) Put(ctx context.Context, key string, value []byte, expected int64) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.change(ctx, key, value, expected, false); err != nil {
		return 0, err
	}
	return s.write(ctx, key, value, expected)
}

// DryPut makes the checks of Put.
func (s *Store) DryPut(ctx context.Context, key string, value []byte, expected int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.change(ctx, key, value, expected, true)
}

// change begins an object that is new, or applies a spec that differs. It does nothing if the write is
// going to fail.
func (s *Store) change(ctx context.Context, key string, value []byte, expected int64, dryRun bool) error {
	current, err := s.Memory.Get(ctx, key, 0)
	switch {
	case errors.Is(err, store.ErrNotFound) && expected == 0:
		return s.create(ctx, value, dryRun)
	case err == nil && current.ModRevision == expected:
		return s.apply(ctx, current.Value, value, dryRun)
	}
	return nil
}

func (s *Store) create(ctx context.Context, value []byte, dryRun bool) error {
	var o object
	if err := json.Unmarshal(value, &o); err != nil {
		return fmt.Errorf("decoding a %s: %w", s.opts.KindName, err)
	}
	if !s.opts.Creates { // by an apply: there is no such verb
		return apierrors.NewNotFound(s.opts.Resource, o.Metadata.Name)
	}
	return s.opts.Objects.(Creator).Create(ctx, o.Metadata.Name, o.Spec, dryRun)
}

// Delete ends an object, and removes it when it has ended. Meanwhile it can be read.
func (s *Store) Delete(ctx context.Context, key string, expected int64) (int64, error) {
	ends, err := s.end(ctx, key, expected, false)
	if err != nil {
		return 0, err
	}
	if !ends {
		return s.Memory.Delete(ctx, key, expected) // it fails
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.versions, key)
	current, err := s.Memory.Get(ctx, key, 0)
	if errors.Is(err, store.ErrNotFound) { // Refresh was faster
		return s.Revision(ctx)
	}
	if err != nil {
		return 0, err
	}
	return s.Memory.Delete(ctx, key, current.ModRevision)
}

// DryDelete makes the checks of Delete.
func (s *Store) DryDelete(ctx context.Context, key string, expected int64) error {
	_, err := s.end(ctx, key, expected, true)
	return err
}

// end ends an object, and returns false if it has another revision.
func (s *Store) end(ctx context.Context, key string, expected int64, dryRun bool) (ends bool, err error) {
	current, err := s.Memory.Get(ctx, key, 0)
	if err != nil || current.ModRevision != expected {
		return false, nil
	}
	var o object
	if err := json.Unmarshal(current.Value, &o); err != nil {
		return false, fmt.Errorf("decoding a %s: %w", s.opts.KindName, err)
	}
	return true, s.opts.Objects.(Creator).Delete(ctx, o.Metadata.Name, dryRun)
}

func (s *Store) apply(ctx context.Context, was, is []byte, dryRun bool) error {
	var before, after object
	if err := errors.Join(json.Unmarshal(was, &before), json.Unmarshal(is, &after)); err != nil {
		return fmt.Errorf("decoding a %s: %w", s.opts.KindName, err)
	}
	if same, err := sameJSON(before.Spec, after.Spec); err != nil || same {
		return err
	}
	return s.opts.Objects.Apply(ctx, after.Metadata.Name, after.Spec, dryRun)
}

// sameJSON reports whether two values are the same, whatever the order of their fields. An empty value is
// absent.
func sameJSON(a, b []byte) (bool, error) {
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b), nil
	}
	var one, other any
	if err := errors.Join(json.Unmarshal(a, &one), json.Unmarshal(b, &other)); err != nil {
		return false, fmt.Errorf("decoding a value: %w", err)
	}
	return reflect.DeepEqual(one, other), nil
}

// Refresh writes the objects whose state has changed.
func (s *Store) Refresh(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	shown := map[string]bool{}
	for _, o := range s.opts.Objects.Now() {
		key := s.opts.Key(o.Name)
		shown[key] = true
		if o.Version != 0 && s.versions[key] == o.Version {
			continue
		}
		if err := s.refresh(ctx, key, o); err != nil {
			return fmt.Errorf("showing the %s %s: %w", s.opts.KindName, o.Name, err)
		}
		s.versions[key] = o.Version
	}
	stored, err := s.List(ctx, s.opts.Key(""), store.ListOptions{})
	if err != nil {
		return err
	}
	for i := range stored.KeyValues {
		if kv := &stored.KeyValues[i]; !shown[kv.Key] {
			if _, err := s.Memory.Delete(ctx, kv.Key, kv.ModRevision); err != nil {
				return err
			}
			delete(s.versions, kv.Key)
		}
	}
	return nil
}

func (s *Store) refresh(ctx context.Context, key string, o Object) error {
	is := object{APIVersion: s.opts.APIVersion, Kind: s.opts.KindName}
	expected := int64(0)
	current, err := s.Memory.Get(ctx, key, 0)
	switch {
	case errors.Is(err, store.ErrNotFound):
		is.Metadata = s.newMetadata(o.Name)
		if !o.Created.IsZero() {
			is.Metadata.CreationTimestamp = o.Created
		}
	case err != nil:
		return err
	default:
		if err := json.Unmarshal(current.Value, &is); err != nil {
			return err
		}
		expected = current.ModRevision
	}
	spec, err := json.Marshal(o.Spec)
	if err != nil {
		return err
	}
	status, err := json.Marshal(o.Status)
	if err != nil {
		return err
	}
	sameSpec, err := sameJSON(spec, is.Spec)
	if err != nil {
		return err
	}
	sameStatus, err := sameJSON(status, is.Status)
	if err != nil || sameSpec && sameStatus && expected > 0 {
		return err
	}
	if !sameSpec && expected > 0 {
		is.Metadata.Generation++
	}
	is.Spec, is.Status = spec, status
	value, err := json.Marshal(is)
	if err != nil {
		return err
	}
	_, err = s.write(ctx, key, value, expected)
	return err
}

// write writes an object. When keptRevisions or keptBytes were written since the last compaction, it forgets
// what is older than that.
func (s *Store) write(ctx context.Context, key string, value []byte, expected int64) (int64, error) {
	revision, err := s.Memory.Put(ctx, key, value, expected)
	if err != nil {
		return 0, err
	}
	s.bytes += len(value)
	if revision-s.since < keptRevisions && s.bytes < keptBytes {
		return revision, nil
	}
	if s.since > 0 {
		err = s.Compact(ctx, s.since)
	}
	s.since, s.bytes = revision, 0
	return revision, err
}

// newMetadata returns the metadata of a new object. This process owns the status. The fields of the spec
// belong to the clients that set them.
func (s *Store) newMetadata(name string) *metav1.ObjectMeta {
	now := s.opts.Now()
	return &metav1.ObjectMeta{
		Name: name, UID: s.opts.UID(name), CreationTimestamp: now, Generation: 1,
		ManagedFields: []metav1.ManagedFieldsEntry{{
			Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: s.opts.APIVersion, Time: &now,
			FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:status":{}}`)}, Subresource: "status",
		}},
	}
}

// Watched counts a watch until end is called.
func (s *Store) Watched() (end func()) {
	s.count(1)
	return func() { s.count(-1) }
}

func (s *Store) count(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watches += n; s.watches == n {
		select {
		case s.watched <- struct{}{}:
		default:
		}
	}
}

func (s *Store) isWatched() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.watches > 0
}

// Run keeps the objects as the state is, while clients watch them, until ctx ends: when it changes and, if
// they change with time, in every watchInterval. A read looks at the state itself.
func (s *Store) Run(ctx context.Context) {
	for ctx.Err() == nil {
		if !s.isWatched() {
			select {
			case <-s.watched:
			case <-ctx.Done():
			}
			continue
		}
		changed := s.opts.Objects.Changed()
		if s.Refresh(ctx) != nil { // the store is closed
			return
		}
		s.wait(ctx, changed)
	}
}

func (s *Store) wait(ctx context.Context, changed <-chan struct{}) {
	if clock.Sleep(ctx, clock.Real(), changesInterval) != nil {
		return
	}
	var tick <-chan time.Time
	if s.opts.Ticks {
		timer := clock.Real().NewTimer(watchInterval)
		defer timer.Stop()
		tick = timer.C()
	}
	select {
	case <-changed:
	case <-tick:
	case <-s.watched:
	case <-ctx.Done():
	}
}
