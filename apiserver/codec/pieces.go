package codec

import (
	"encoding/binary"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// pieces is the protobuf message of a list, in its envelope (magic and runtime.Unknown),
// which is written in pieces. The message has the metadata as field 1 and the items as
// field 2.
type pieces struct {
	w   io.Writer // nil if the message is not written in pieces
	buf []byte
}

func newPieces(w io.Writer, kind schema.GroupVersionKind, meta *metav1.ListMeta, sizes []int) *pieces {
	size := messageSize(meta.Size())
	for _, item := range sizes {
		size += messageSize(item)
	}
	apiVersion, name := kind.ToAPIVersionAndKind()
	typeMeta := runtime.TypeMeta{APIVersion: apiVersion, Kind: name}
	capacity := len(protoMagic) + messageSize(typeMeta.Size()) + messageSize(size) + len(envelopeEnd)
	if w != nil {
		capacity = min(capacity, pieceSize+pieceSize/4)
	}
	p := &pieces{w: w, buf: make([]byte, 0, capacity)}
	p.buf = append(p.buf, protoMagic...)
	// Fields in memory cannot fail to encode.
	_ = p.message(1, &typeMeta, typeMeta.Size())
	p.header(2, size)
	_ = p.message(1, meta, meta.Size())
	return p
}

// envelopeEnd are the empty fields 3 and 4 of a runtime.Unknown: contentEncoding and
// contentType.
const envelopeEnd = "\x1a\x00\x22\x00"

// messageSize returns the size of an embedded message of n bytes with its tag and length.
func messageSize(n int) int {
	size := 2 + n
	for v := uint64(n); v >= 0x80; v >>= 7 {
		size++
	}
	return size
}

func (p *pieces) header(field byte, size int) {
	p.buf = append(p.buf, field<<3|2)
	p.buf = binary.AppendUvarint(p.buf, uint64(size))
}

// message appends an embedded message and writes what is encoded if it is a piece.
func (p *pieces) message(field byte, message protoMarshaler, size int) error {
	p.header(field, size)
	start := len(p.buf)
	p.buf = append(p.buf, make([]byte, size)...)
	n, err := message.MarshalTo(p.buf[start:])
	if err != nil {
		return err
	}
	if n != size {
		return fmt.Errorf("%T wrote %d bytes where it announced %d", message, n, size)
	}
	if p.w == nil || len(p.buf) < pieceSize {
		return nil
	}
	_, err = p.w.Write(p.buf)
	p.buf = p.buf[:0]
	return err
}

// end returns what is not written.
func (p *pieces) end() []byte { return append(p.buf, envelopeEnd...) }
