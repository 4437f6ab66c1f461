package reference

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
)

// magic begins a reference. No encoding of an object does: protobuf begins with "k8s", JSON
// with a brace.
var magic = []byte("ref\x00")

// Table has the objects that the server has sent in the client's current watch and that the
// client has not decoded yet. A client has one table and one watch at a time.
//
//	client: Begin, then a request with the Stream in its context
//	server: Put(object)       the frame contains reference 7
//	client: reads the frame, decodes reference 7: takes the object
//	the watch breaks          references 8 and 9 are never decoded
//	client: Begin             their objects are dropped
type Table struct {
	mu      sync.Mutex
	current *Stream
	objects map[uint64]runtime.Object
	next    uint64
}

// Stream is one watch of the client of a Table.
type Stream struct{ table *Table }

// Begin returns the stream of a new watch, which replaces the one before.
func (t *Table) Begin() *Stream {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.current, t.objects = &Stream{t}, map[uint64]runtime.Object{}
	return t.current
}

// Put returns a reference to obj. If the client has begun another watch, nothing reads it.
func (s *Stream) Put(obj runtime.Object) []byte {
	s.table.mu.Lock()
	defer s.table.mu.Unlock()
	s.table.next++
	if s.table.current == s {
		s.table.objects[s.table.next] = obj
	}
	return binary.BigEndian.AppendUint64(bytes.Clone(magic), s.table.next)
}

// Peek returns the object of the reference that a frame contains; nil: it contains none. It can still be decoded.
func (t *Table) Peek(frame []byte) runtime.Object {
	at := bytes.Index(frame, magic)
	if at < 0 || len(frame) < at+len(magic)+8 {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.objects[binary.BigEndian.Uint64(frame[at+len(magic):])]
}

// take returns the object of a reference, once.
func (t *Table) take(data []byte) (runtime.Object, error) {
	if len(data) != len(magic)+8 {
		return nil, fmt.Errorf("a reference has %d bytes, want %d", len(data), len(magic)+8)
	}
	number := binary.BigEndian.Uint64(data[len(magic):])
	t.mu.Lock()
	defer t.mu.Unlock()
	obj, ok := t.objects[number]
	if !ok {
		return nil, fmt.Errorf("no object has the reference %d", number)
	}
	delete(t.objects, number)
	return obj, nil
}

type streamKey struct{}

// WithStream returns a context whose watch request may be answered with references.
func WithStream(ctx context.Context, s *Stream) context.Context {
	return context.WithValue(ctx, streamKey{}, s)
}

// StreamOf returns the stream of a request's context; nil if it must be answered with encoded
// objects. A request over a socket has none.
func StreamOf(ctx context.Context) *Stream {
	s, _ := ctx.Value(streamKey{}).(*Stream)
	return s
}
