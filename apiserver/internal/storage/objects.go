package storage

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/storage/value"

	"minikcm.dev/minikcm/apiserver/internal/codec"
	"minikcm.dev/minikcm/apiserver/internal/resources"
	"minikcm.dev/minikcm/apiserver/internal/watchcache"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/store"
)

// Root is the prefix of all keys, as upstream's default of --etcd-prefix.
const Root = "/registry/"

// Config configures New.
type Config struct {
	// Resource is the row whose version is stored.
	Resource *resources.Resource
	Store    store.Store
	Decoder  *codec.Decoder
	Clock    clock.Clock
	Ledger   *clock.Ledger
	// Since is the revision after which watches may begin, however late the first one comes.
	Since int64
	// Reserve is optional.
	Reserve Reserve
	// Transformer encrypts the stored values; nil: they are stored plain.
	Transformer value.Transformer
	// BeforeEvents is passed to the watch cache; optional.
	BeforeEvents func()
	// Checks makes the store's own checks for a dry run; optional.
	Checks Checks
}

// Checks are the checks that a store makes before a write. Their errors are the write's.
type Checks interface {
	DryPut(ctx context.Context, key string, value []byte, expected int64) error
	DryDelete(ctx context.Context, key string, expected int64) error
}

// Objects stores the objects of one resource.
type Objects struct {
	row     *resources.Resource
	prefix  string
	store   store.Store
	decoder *codec.Decoder
	cache   *watchcache.Cache
	reserve Reserve
	checks  Checks
	// transformer is nil if values are stored plain.
	transformer value.Transformer
	// unkept returns nil for a row whose objects are stored as JSON.
	unkept func() *unkept
	// written is the newest revision that this process has written.
	written atomic.Int64
	scratch scratch
}

// New returns the storage of one resource. Its watch cache starts on first use.
func New(cfg Config) *Objects {
	o := &Objects{row: cfg.Resource, store: cfg.Store, decoder: cfg.Decoder, reserve: cfg.Reserve, transformer: cfg.Transformer, checks: cfg.Checks}
	prefix := cfg.Resource.StoragePrefix
	if prefix == "" {
		prefix = cfg.Resource.Plural
	}
	o.prefix = Root + prefix + "/"
	o.unkept = sync.OnceValue(o.newUnkept)
	cached := watchcache.Config{
		Store:  cfg.Store,
		Prefix: o.prefix,
		Decode: o.decode,
		Attrs:  o.attrs,
		Clock:  cfg.Clock,
		Ledger: cfg.Ledger,
		Since:  cfg.Since,

		WithRevision: WithRevision, BeforeEvents: cfg.BeforeEvents,
	}
	if o.row.Packed != nil && o.transformer == nil {
		cached.Packed = o.packedFields
	}
	o.cache = watchcache.New(cached)
	return o
}

// packedFields reads the selectable fields from a stored value; ok is false if it is not protobuf.
func (o *Objects) packedFields(value []byte) (set fields.Fields, ok bool) {
	message, ok := codec.StoredMessage(value)
	if !ok {
		return nil, false
	}
	return o.row.PackedFields(message), true
}

func (o *Objects) newUnkept() *unkept {
	if o.row.Custom || o.row.Stored != nil {
		return nil
	}
	return newUnkept(reflect.TypeOf(o.row.New()).Elem())
}

// Close stops the watch cache.
func (o *Objects) Close() { o.cache.Close() }

// committed records a revision that this process has written.
func (o *Objects) committed(revision int64) {
	for {
		newest := o.written.Load()
		if revision <= newest || o.written.CompareAndSwap(newest, revision) {
			break
		}
	}
	o.cache.Committed(revision)
}

// Known returns the cache's copy of an object, or nil if it does not exist. The state
// includes all writes of this process.
func (o *Objects) Known(ctx context.Context, key string) (runtime.Object, error) {
	entry, _, err := o.cache.Get(ctx, key, o.written.Load())
	if err != nil || entry == nil {
		return nil, err
	}
	return entry.Object(), nil
}

// Version returns a number that grows with every change of the objects that this process
// has made or seen. It can only be compared with the number of an earlier call.
func (o *Objects) Version() int64 { return max(o.written.Load(), o.cache.LastChange()) }

// Empty reports whether there are no objects. The state includes all writes of this
// process.
func (o *Objects) Empty(ctx context.Context) (bool, error) {
	empty, err := o.cache.Empty(ctx, o.written.Load())
	return empty, o.translate(err, "")
}

// KnownIn returns the cache's copies of a namespace's objects, in the order of their names.
// The state includes all writes of this process.
func (o *Objects) KnownIn(ctx context.Context, namespace string) ([]runtime.Object, error) {
	list, err := o.cache.List(ctx, watchcache.ListOptions{Prefix: o.Prefix(namespace), Match: watchcache.NotOlderThan, Revision: o.written.Load()})
	if err != nil {
		return nil, o.translate(err, "")
	}
	found := make([]runtime.Object, len(list.Entries))
	for i, entry := range list.Entries {
		found[i] = entry.Object()
	}
	return found, nil
}

// ChangesSince returns the changes from the state at a revision, which an earlier call
// returned, to the current one (watchcache.Cache.ChangesSince). They include all writes of this
// process.
func (o *Objects) ChangesSince(ctx context.Context, since int64) (*watchcache.Changes, error) {
	changes, err := o.cache.ChangesSince(ctx, since, o.written.Load())
	return changes, o.translate(err, "")
}

// Cache returns the resource's watch cache.
func (o *Objects) Cache() *watchcache.Cache { return o.cache }

// Follow calls each with the objects that are written after a revision, and with all present ones for 0, until the watch,
// each or ctx ends. Of a deleted object it gets the last state.
func (o *Objects) Follow(ctx context.Context, revision int64, each func(entry *watchcache.Entry) error) error {
	watcher, err := o.cache.Watch(ctx, watchcache.WatchOptions{Prefix: o.prefix, Revision: revision})
	if err != nil {
		return err
	}
	defer watcher.Stop()
	for {
		events, err := watcher.Next(ctx)
		if err != nil {
			return err
		}
		for i := range events {
			if err := each(events[i].Entry); err != nil {
				return err
			}
		}
	}
}

// TTL returns how long after its last write an object expires; 0 means never.
func (o *Objects) TTL() time.Duration { return o.row.Strategy.TTL }

// Prefix returns the prefix of a namespace's keys; empty means all namespaces.
func (o *Objects) Prefix(namespace string) string {
	if namespace == "" {
		return o.prefix
	}
	return o.prefix + namespace + "/"
}

// Key returns the key of one object; namespace is empty for cluster-scoped ones.
func (o *Objects) Key(namespace, name string) string { return o.Prefix(namespace) + name }

func (o *Objects) attrs(obj runtime.Object) (labels.Set, fields.Fields) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, fields.Set(nil)
	}
	if o.row.Fields == nil {
		return m.GetLabels(), o.row.FieldsOf(obj)
	}
	set := o.row.Fields(obj)
	if set == nil {
		set = make(fields.Set, 2)
	}
	set["metadata.name"] = m.GetName()
	if o.row.Namespaced {
		set["metadata.namespace"] = m.GetNamespace()
	}
	return m.GetLabels(), set
}

// decode returns the object of a stored value.
func (o *Objects) decode(kv store.KeyValue) (runtime.Object, error) {
	opened, _, err := o.open(kv)
	if err != nil {
		return nil, err
	}
	return o.decodePlain(opened)
}

// decodePlain is decode for a value that is not encrypted.
func (o *Objects) decodePlain(kv store.KeyValue) (runtime.Object, error) {
	obj := o.row.New()
	if err := o.fromBytes(kv.Value, obj); err != nil {
		return nil, o.unreadable(kv, err)
	}
	switch {
	case o.row.Coerce != nil:
		if _, err := o.row.Coerce(obj, true); err != nil {
			return nil, fmt.Errorf("reading %s at revision %d: %w", kv.Key, kv.ModRevision, err)
		}
	case o.row.Strategy.Default != nil:
		// Set defaults for objects stored by an older release, and for fields that the
		// stored form does not keep.
		o.row.Strategy.Default(obj)
	}
	setRevision(obj, kv.ModRevision)
	return obj, nil
}

// Get returns the newest object, or a NotFound error.
func (o *Objects) Get(ctx context.Context, key, name string) (runtime.Object, error) {
	obj, _, err := o.read(ctx, key, name)
	return obj, err
}

// GetAt returns the object at a revision.
func (o *Objects) GetAt(ctx context.Context, key, name string, revision int64) (runtime.Object, error) {
	kv, err := o.store.Get(ctx, key, revision)
	if err != nil {
		return nil, o.translate(err, name)
	}
	obj, err := o.decode(*kv)
	return obj, errorOfOne(err)
}

func codingErrorOf(err error) error {
	if err == nil {
		return nil
	}
	return codingError(err)
}

func (o *Objects) read(ctx context.Context, key, name string) (runtime.Object, int64, error) {
	kv, err := o.store.Get(ctx, key, 0)
	if err != nil {
		return nil, 0, o.translate(err, name)
	}
	obj, err := o.decode(*kv)
	if err != nil {
		return nil, 0, errorOfOne(err)
	}
	return obj, kv.ModRevision, nil
}

// ListAt reads a page from the store at an exact revision (0: the newest).
func (o *Objects) ListAt(ctx context.Context, prefix string, opts store.ListOptions) (*store.ListResult, []runtime.Object, error) {
	page, err := o.store.List(ctx, prefix, opts)
	if err != nil {
		return nil, nil, err
	}
	objects := make([]runtime.Object, len(page.KeyValues))
	for i, kv := range page.KeyValues {
		if objects[i], err = o.decode(kv); err != nil {
			return nil, nil, codingError(err)
		}
	}
	return page, objects, nil
}

// HasRevision returns the store's error if a revision is compacted, or does not exist yet.
func (o *Objects) HasRevision(ctx context.Context, revision int64) error {
	_, err := o.store.Get(ctx, o.prefix, revision)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// Matches reports whether an object matches both selectors.
func (o *Objects) Matches(obj runtime.Object, label labels.Selector, field fields.Selector) bool {
	labelSet, fieldSet := o.attrs(obj)
	return label.Matches(labelSet) && field.Matches(fieldSet)
}

// Create stores a new object and returns it with its resourceVersion. It returns an error
// if obj has a resourceVersion, unless dryRun is set. A dry run returns obj as a read
// would, with the resourceVersion that it came with.
func (o *Objects) Create(ctx context.Context, key string, obj runtime.Object, dryRun bool) (stored runtime.Object, err error) {
	err = o.reserving(ctx, obj, nil, dryRun, func() error {
		stored, err = o.create(ctx, key, obj, dryRun)
		return err
	})
	return stored, err
}

func (o *Objects) create(ctx context.Context, key string, obj runtime.Object, dryRun bool) (runtime.Object, error) {
	name := nameOf(obj)
	if dryRun {
		_, _, err := o.read(ctx, key, name)
		if err == nil {
			return nil, apierrors.NewAlreadyExists(o.row.GroupResource(), name)
		}
		if !apierrors.IsNotFound(err) {
			return nil, err
		}
		return o.asIfCreated(ctx, key, obj)
	}
	if hasRevision(obj) {
		return nil, &NotStoredError{Err: errRevisionOnCreate()}
	}
	stored, err := o.put(ctx, key, obj, 0)
	var conflict *store.ConflictError
	if errors.As(err, &conflict) {
		return nil, apierrors.NewAlreadyExists(o.row.GroupResource(), name)
	}
	if err != nil {
		return nil, o.translate(err, name)
	}
	return stored, nil
}

// asIfCreated returns the result of a dry run: as upstream, it keeps a resourceVersion that
// the client sent.
func (o *Objects) asIfCreated(ctx context.Context, key string, obj runtime.Object) (runtime.Object, error) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	sent := m.GetResourceVersion()
	value, err := o.encode(obj)
	if err != nil {
		return nil, err
	}
	if o.checks != nil {
		if err := o.checks.DryPut(ctx, key, value, 0); err != nil {
			return nil, err
		}
	}
	read, err := o.decodePlain(store.KeyValue{Key: key, Value: value})
	if err != nil {
		return nil, codingError(err)
	}
	if m, err = meta.Accessor(read); err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	m.SetResourceVersion(sent)
	return read, nil
}

// put writes obj if the key is at revision expected.
func (o *Objects) put(ctx context.Context, key string, obj runtime.Object, expected int64) (runtime.Object, error) {
	value, err := o.encode(obj)
	if err != nil {
		return nil, err
	}
	return o.putBytes(ctx, key, value, obj, expected)
}

func (o *Objects) encode(obj runtime.Object) ([]byte, error) {
	clearRevision(obj)
	value, err := o.toBytes(obj)
	return value, notStored(err)
}

// notStored returns the error of a write whose object could not be encoded; nil if err is nil.
func notStored(err error) error {
	if err == nil {
		return nil
	}
	return &NotStoredError{Err: codingError(err)}
}

// codingError returns the error for an object that cannot be encoded or decoded.
// Conversions return their own API errors.
func codingError(err error) error {
	var status *apierrors.StatusError
	if errors.As(err, &status) {
		return status
	}
	return apierrors.NewInternalError(err)
}

// storedKind returns the kind of the stored objects, in the version in which they are stored.
func (o *Objects) storedKind() schema.GroupVersionKind {
	kind := o.row.GroupVersionKind
	if o.row.StoredVersion != "" {
		kind.Version = o.row.StoredVersion
	}
	return kind
}

func (o *Objects) toBytes(obj runtime.Object) ([]byte, error) {
	if o.row.Stored != nil {
		data, err := o.row.Stored.Encode(obj)
		if err != nil {
			return nil, err
		}
		return codec.AppendJSONChecksum(data), nil
	}
	return codec.EncodeStored(o.storedKind(), obj)
}

func (o *Objects) fromBytes(data []byte, into runtime.Object) error {
	if o.row.Stored != nil && o.row.Stored.Decode != nil {
		if err := codec.VerifyStored(data); err != nil {
			return err
		}
		return o.row.Stored.Decode(data, into)
	}
	return o.decoder.DecodeStored(data, into)
}

func (o *Objects) putBytes(ctx context.Context, key string, value []byte, obj runtime.Object, expected int64) (runtime.Object, error) {
	sealed, err := o.seal(ctx, key, value)
	if err != nil {
		return nil, err
	}
	lossy := o.row.Stored != nil && o.row.Stored.Lossy || o.unkept().in(obj)
	var write *watchcache.Write
	if !lossy {
		if o.row.AsRead != nil {
			obj = o.row.AsRead(obj)
		}
		write = o.cache.Wrote(key, sealed, obj)
	}
	ctx, cancel := store.Detached(ctx)
	defer cancel()
	revision, err := o.putOnPremises(ctx, key, sealed, expected)
	if err != nil {
		if write != nil {
			write.Failed()
		}
		return nil, err
	}
	o.committed(revision)
	if write != nil {
		return write.Stored(revision), nil
	}
	stored, err := o.decodePlain(store.KeyValue{Key: key, Value: value, ModRevision: revision})
	return stored, codingErrorOf(err)
}

// translate converts a store's error to an API error.
func (o *Objects) translate(err error, name string) error {
	return Translate(err, o.row.GroupResource(), name)
}

// errModified is the message of a Conflict.
var errModified = errors.New("the object has been modified; please apply your changes to the latest version and try again")

// Conflict returns the error for a write against an outdated object.
func Conflict(resource schema.GroupResource, name string) error {
	return apierrors.NewConflict(resource, name, errModified)
}

func nameOf(obj runtime.Object) string {
	m, err := meta.Accessor(obj)
	if err != nil {
		return ""
	}
	return m.GetName()
}

// setRevision sets the resourceVersion of obj; revision 0 clears it.
func setRevision(obj runtime.Object, revision int64) {
	m, ok := obj.(metav1.Object)
	if !ok {
		return
	}
	m.SetResourceVersion("")
	if revision != 0 {
		m.SetResourceVersion(strconv.FormatInt(revision, 10))
	}
}

// hasRevision reports whether obj has a resourceVersion. As upstream, one that is not a
// number counts as none.
func hasRevision(obj runtime.Object) bool {
	m, ok := obj.(metav1.Object)
	if !ok {
		return false
	}
	revision, err := ObjectRevision(m)
	return err == nil && revision != 0
}

func clearRevision(obj runtime.Object) {
	if m, ok := obj.(metav1.Object); ok {
		m.SetResourceVersion("")
		m.SetSelfLink("")
	}
}
