package codec

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/internal/envelope"
)

// pieces is the protobuf message of a list, in its envelope (magic and runtime.Unknown),
// which is written in pieces. The message has the metadata as field 1 and the items as
// field 2.
type pieces struct {
	w   io.Writer // nil if the message is not written in pieces
	buf []byte
}

// newPieces returns the beginning of the message, whose items take items bytes.
func newPieces(w io.Writer, kind schema.GroupVersionKind, meta *metav1.ListMeta, items int) *pieces {
	size := messageSize(meta.Size()) + items
	apiVersion, name := kind.ToAPIVersionAndKind()
	typeMeta := runtime.TypeMeta{APIVersion: apiVersion, Kind: name}
	capacity := len(envelope.Magic) + messageSize(typeMeta.Size()) + messageSize(size) + len(envelopeEnd)
	if w != nil {
		capacity = min(capacity, pieceSize+pieceSize/4)
	}
	p := &pieces{w: w, buf: make([]byte, 0, capacity)}
	p.buf = append(p.buf, envelope.Magic...)
	// Fields in memory cannot fail to encode.
	_ = p.message(1, &typeMeta, typeMeta.Size())
	p.buf = appendHeader(p.buf, 2, size)
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

func appendHeader(buf []byte, field byte, size int) []byte {
	return binary.AppendUvarint(append(buf, field<<3|2), uint64(size))
}

// appendMessage appends an embedded message.
func appendMessage(buf []byte, field byte, message protoMarshaler, size int) ([]byte, error) {
	buf = appendHeader(buf, field, size)
	start := len(buf)
	buf = slices.Grow(buf, size)[:start+size]
	n, err := message.MarshalTo(buf[start:])
	if err == nil && n != size {
		err = fmt.Errorf("%T wrote %d bytes where it announced %d", message, n, size)
	}
	return buf, err
}

// message appends an embedded message, and writes the encoded bytes if they make a piece.
func (p *pieces) message(field byte, message protoMarshaler, size int) (err error) {
	if p.buf, err = appendMessage(p.buf, field, message, size); err != nil {
		return err
	}
	if p.w == nil || len(p.buf) < pieceSize {
		return nil
	}
	_, err = p.w.Write(p.buf)
	p.buf = p.buf[:0]
	return err
}

// end returns the bytes that are not written yet.
func (p *pieces) end() []byte { return append(p.buf, envelopeEnd...) }
