package informers

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// body is a watch's stream, which counts each frame when its first byte is handed
// to the client.
//
// The writer of the stream stops counting a frame when its reader reads again. body counts the
// frames that it has read before it reads again.
type body struct {
	io.ReadCloser
	flow *flow
	turn uint64
	scan scanner

	unread []byte
	// full means that the last read filled its buffer; small and large are the buffers.
	full    bool
	small   []byte
	large   *[largeRead]byte
	err     error
	initial bool   // the initial list has not ended yet
	partial []byte // the frame that has begun and not ended
	// held are the frames that wait for steps; nil: none ever did.
	held *heldFrames
}

// smallRead is how many bytes are taken from a stream while it is quiet, and largeRead when more are there. The
// cluster's parts have a hundred watches, most of which are quiet, so that large buffers are shared.
const (
	smallRead = 2 << 10
	largeRead = 32 << 10
)

var largeReads = sync.Pool{New: func() any { return new([largeRead]byte) }}

// buffer returns the buffer for the next read, after all bytes of the last one.
func (b *body) buffer() []byte {
	if b.full {
		if b.large == nil {
			b.large = largeReads.Get().(*[largeRead]byte)
		}
		return b.large[:]
	}
	if b.large != nil {
		largeReads.Put(b.large)
		b.large = nil
	}
	if b.small == nil {
		b.small = make([]byte, smallRead)
	}
	return b.small
}

func (b *body) Read(into []byte) (int, error) {
	if len(b.unread) == 0 && b.held != nil {
		if err := b.next(); err != nil {
			return 0, err
		}
	}
	if len(b.unread) == 0 {
		if b.err != nil {
			return 0, b.err
		}
		buf := b.buffer()
		n, err := b.ReadCloser.Read(buf)
		b.unread, b.full, b.err = buf[:n], n == len(buf), err
		if n > 0 && !b.initial && b.flow.staged && b.flow.ledger.StagesPaused() && b.hold(b.unread) {
			return b.Read(into)
		}
		b.count(b.unread)
		if err != nil {
			b.flow.disconnect(b.turn)
		}
		if n == 0 {
			return 0, err
		}
	}
	n := copy(into, b.unread)
	b.unread = b.unread[n:]
	return n, nil
}

func (b *body) Close() error {
	b.flow.disconnect(b.turn)
	err := b.ReadCloser.Close()
	b.flow.mu.Lock()
	held := b.held
	b.flow.mu.Unlock()
	if held != nil {
		b.release(held)
	}
	return err
}

// count goes through the frames that begin or end in data.
func (b *body) count(data []byte) {
	begun := len(b.partial) > 0
	kept := begun // whether b.partial holds data
	if begun {
		b.partial = append(b.partial, data...)
		data = b.partial
	}
	for len(data) > 0 {
		if !begun {
			b.flow.begin(b.turn, b.initial)
		}
		frame, rest, whole := b.scan(data)
		if !whole {
			if !kept {
				b.partial = append(b.partial[:0], data...)
			}
			return
		}
		b.whole(frame)
		begun, kept, data = false, false, rest
	}
	b.partial = b.partial[:0]
}

// whole is called with each complete frame. Bookmarks, and whatever else is not an
// object, reach no handler. In a streamed list, a deletion only removes an object from the
// collected ones. An error stays counted until the reflector has sent its next
// request.
func (b *body) whole(f frame) {
	initial := b.initial
	switch f.kind {
	case watch.Added, watch.Modified, watch.Error:
		return
	case watch.Deleted:
		if !initial {
			return
		}
	case watch.Bookmark:
		if bytes.Contains(f.data, []byte(metav1.InitialEventsAnnotationKey)) {
			b.initial = false
			b.flow.listEnds(b.turn, true)
		}
	}
	b.flow.void(b.turn, initial)
}

// frame is one event of a stream as it was sent.
type frame struct {
	kind watch.EventType
	data []byte
	// raw is data with what surrounds it in the stream, if the frame is held.
	raw []byte
}

// scanner cuts the first frame off data. It reports false if the frame is not
// complete.
type scanner func(data []byte) (first frame, rest []byte, whole bool)

// scanProtobuf expects a length in four bytes, big-endian, and a meta/v1
// WatchEvent, whose first field is its type.
func scanProtobuf(data []byte) (frame, []byte, bool) {
	const header = 4
	if len(data) < header {
		return frame{}, nil, false
	}
	end := header + uint64(binary.BigEndian.Uint32(data))
	if uint64(len(data)) < end {
		return frame{}, nil, false
	}
	event, rest := data[header:end], data[end:]
	f := frame{data: event}
	const typeField = 1<<3 | 2 // the first field, of a length and that many bytes
	if len(event) >= 2 && event[0] == typeField && int(event[1]) <= len(event)-2 {
		f.kind = watch.EventType(event[2 : 2+int(event[1])])
	}
	return f, rest, true
}

// scanJSON expects a JSON object a line, as API servers send them, most often with
// its type first.
func scanJSON(data []byte) (frame, []byte, bool) {
	line, rest, whole := bytes.Cut(data, []byte{'\n'})
	if !whole {
		return frame{}, nil, false
	}
	f := frame{data: line}
	if start, ok := bytes.CutPrefix(line, []byte(`{"type":"`)); ok {
		if kind, _, ok := bytes.Cut(start, []byte{'"'}); ok {
			f.kind = watch.EventType(kind)
			return f, rest, true
		}
	}
	var event struct {
		Type watch.EventType `json:"type"`
	}
	if err := json.Unmarshal(line, &event); err == nil {
		f.kind = event.Type
	}
	return f, rest, true
}
