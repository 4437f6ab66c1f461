package watchcache

import (
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
)

// Entry is one object at one revision. It is shared by all who read or watch and
// must not be changed.
type Entry struct {
	Key      string
	Revision int64
	Object   runtime.Object
	Labels   labels.Set
	Fields   fields.Fields

	encodings atomic.Pointer[encoding]
	encoding  sync.Mutex // held while a form is being made
}

// encoding is one form of an entry's object. There are few forms: a list does.
type encoding struct {
	form  string
	bytes []byte
	next  *encoding
}

// Encoded returns the object's bytes in a form. The first who asks for a form
// makes them with encode; the others get the same bytes, which must not be
// changed. An error is not remembered.
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
	bytes, err := encode(e.Object)
	if err != nil {
		return nil, err
	}
	e.encodings.Store(&encoding{form: form, bytes: bytes, next: first})
	return bytes, nil
}

func find(e *encoding, form string) *encoding {
	for ; e != nil; e = e.next {
		if e.form == form {
			return e
		}
	}
	return nil
}
