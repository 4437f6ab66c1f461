package watchcache

import (
	"fmt"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/store"
)

// Entry is one object at one revision. Readers and watchers share it and must not
// modify it.
type Entry struct {
	Key      string
	Revision int64
	Labels   labels.Set
	Fields   fields.Fields

	object runtime.Object
	packed *packed // if not nil, in place of object

	id        uint64
	size      int // bytes of the stored value
	encodings atomic.Pointer[encoding]
	encoding  sync.Mutex // held while an encoding is being made

	shared   atomic.Pointer[sharedForm]
	replaced atomic.Bool
}

// sharedForm is the object of an entry in a form that receivers in this process share.
type sharedForm struct {
	form   string
	object runtime.Object
}

// packed is an object that is kept as it is stored (Config.Packed).
type packed struct {
	value  []byte
	decode func(store.KeyValue) (runtime.Object, error)
}

// Object returns the object, or nil for the entry of a bookmark. Each call for a packed entry
// decodes another copy. It panics if that fails: the value is one that this process has encoded
// or decoded before.
func (e *Entry) Object() runtime.Object {
	if e.packed == nil {
		return e.object
	}
	obj, err := e.packed.decode(store.KeyValue{Key: e.Key, Value: e.packed.value, ModRevision: e.Revision})
	if err != nil {
		panic(fmt.Sprintf("decoding %s at revision %d again: %v", e.Key, e.Revision, err))
	}
	return obj
}

// at returns the entry of the same state at a later revision. It is in no list.
func (e *Entry) at(revision int64, withRevision func(runtime.Object, int64) runtime.Object) *Entry {
	later := &Entry{Key: e.Key, Revision: revision, Labels: e.Labels, Fields: e.Fields, packed: e.packed, size: e.size}
	if e.packed == nil {
		later.object = withRevision(e.object, revision)
	}
	return later
}

// lastID is the ID of the newest entry.
var lastID atomic.Uint64

// ID returns a number that no other entry of the process has, 0 for an entry that is in no list.
func (e *Entry) ID() uint64 { return e.id }

// Size returns the bytes of the stored value.
func (e *Entry) Size() int { return e.size }

// encoding is the object of an entry in one form. An entry has few forms, so a linked
// list is enough.
type encoding struct {
	form  string
	bytes []byte
	next  *encoding
}

// Encoded returns the object encoded in a form, such as a media type. The first call
// for a form runs encode; later calls return the same bytes, which must not be
// modified. Errors are not cached.
func (e *Entry) Encoded(form string, encode func(runtime.Object) ([]byte, error)) ([]byte, error) {
	if found := find(e.encodings.Load(), form); found != nil {
		return found.bytes, nil
	}
	e.encoding.Lock()
	defer e.encoding.Unlock()
	first := e.encodings.Load()
	if found := find(first, form); found != nil {
		return found.bytes, nil
	}
	bytes, err := encode(e.Object())
	if err != nil {
		return nil, err
	}
	e.encodings.Store(&encoding{form: form, bytes: bytes, next: first})
	return bytes, nil
}

// Shared returns the object converted by form, which has a name; the result must not be modified.
// While the entry is the newest of its key, all calls for one form return the same object.
func (e *Entry) Shared(name string, form func(runtime.Object) runtime.Object) runtime.Object {
	if e.packed != nil || e.replaced.Load() {
		return form(e.Object())
	}
	if s := e.shared.Load(); s != nil && s.form == name {
		return s.object
	}
	made := &sharedForm{form: name, object: form(e.Object())}
	if !e.shared.CompareAndSwap(nil, made) {
		if s := e.shared.Load(); s != nil && s.form == name {
			return s.object
		}
	}
	if e.replaced.Load() {
		e.shared.Store(nil)
	}
	return made.object
}

// replace notes that the key has a newer state. A watch that begins in the past may still need the
// entry; it does not keep the shared form for that.
func (e *Entry) replace() {
	e.replaced.Store(true)
	e.shared.Store(nil)
}

func find(e *encoding, form string) *encoding {
	for ; e != nil; e = e.next {
		if e.form == form {
			return e
		}
	}
	return nil
}
