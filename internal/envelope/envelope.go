package envelope

import (
	"fmt"
	"math/bits"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Magic precedes every protobuf message of the Kubernetes API
// (k8s.io/apimachinery/pkg/runtime/serializer/protobuf).
var Magic = []byte{0x6b, 0x38, 0x73, 0x00}

// Message is an object with a protobuf form. Size returns the number of bytes that MarshalTo writes.
type Message interface {
	Size() int
	MarshalTo(data []byte) (int, error)
}

// Envelope is a message about to be wrapped.
type Envelope struct {
	unknown runtime.Unknown
	message Message
	size    uint64 // of the message
	// Length is the number of bytes of the whole document.
	Length int
}

// New returns the envelope of a message of a kind. The message must not change until WriteTo has returned.
func New(gvk schema.GroupVersionKind, message Message) *Envelope {
	e := &Envelope{message: message, size: uint64(message.Size())}
	e.unknown.APIVersion, e.unknown.Kind = gvk.ToAPIVersionAndKind()
	varint := (max(bits.Len64(e.size), 1) + 6) / 7 // the length of the message takes seven bits a byte
	e.Length = len(Magic) + e.unknown.Size() + 1 + varint + int(e.size)
	return e
}

// WriteTo fills data, which must have the envelope's length.
func (e *Envelope) WriteTo(data []byte) error {
	n := copy(data, Magic)
	written, err := e.unknown.NestedMarshalTo(data[n:], e.message, e.size)
	if err == nil && n+written != len(data) {
		err = fmt.Errorf("%d bytes, not %d", n+written, len(data))
	}
	if err != nil {
		return fmt.Errorf("encoding %s as protobuf: %w", e.unknown.Kind, err)
	}
	return nil
}
