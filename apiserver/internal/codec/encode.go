package codec

import (
	"encoding/json"
	"fmt"
	"math/bits"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// protoMagic precedes every protobuf message of the Kubernetes API
// (k8s.io/apimachinery/pkg/runtime/serializer/protobuf).
var protoMagic = []byte{0x6b, 0x38, 0x73, 0x00}

type protoMarshaler interface {
	Size() int
	MarshalTo(data []byte) (int, error)
}

// NotProtobufError is returned for a kind without a protobuf encoding.
type NotProtobufError struct{ Kind schema.GroupVersionKind }

func (e *NotProtobufError) Error() string {
	return fmt.Sprintf("object %s does not implement the protobuf marshalling interface and cannot be encoded to a protobuf message", e.Kind)
}

// Encode encodes obj as one document. It does not modify obj; a TypeMeta of its own must
// equal gvk.
func Encode(m Media, gvk schema.GroupVersionKind, obj runtime.Object) ([]byte, error) {
	switch m {
	case Protobuf:
		return encodeProtobuf(gvk, obj)
	case YAML:
		data, err := encodeJSON(gvk, obj)
		if err != nil {
			return nil, err
		}
		return yaml.JSONToYAML(data)
	default:
		data, err := encodeJSON(gvk, obj)
		return append(data, '\n'), err
	}
}

// jsonForm returns the value to marshal for obj's JSON. For a custom object it is the
// content: the object's MarshalJSON would encode it twice.
func jsonForm(obj runtime.Object) any {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return u.Object
	}
	return obj
}

func encodeJSON(gvk schema.GroupVersionKind, obj runtime.Object) ([]byte, error) {
	data, err := json.Marshal(jsonForm(obj))
	if err != nil {
		return nil, fmt.Errorf("encoding %s as JSON: %w", gvk.Kind, err)
	}
	if !obj.GetObjectKind().GroupVersionKind().Empty() {
		return data, nil
	}
	return withTypeMeta(gvk, data), nil
}

// withTypeMeta inserts kind and apiVersion, unless empty, at the front of a JSON object.
func withTypeMeta(gvk schema.GroupVersionKind, object []byte) []byte {
	apiVersion := gvk.GroupVersion().String()
	out := make([]byte, 0, len(object)+len(gvk.Kind)+len(apiVersion)+32)
	out = append(out, `{"kind":"`...)
	out = append(out, gvk.Kind...)
	if apiVersion != "" {
		out = append(out, `","apiVersion":"`...)
		out = append(out, apiVersion...)
	}
	out = append(out, '"')
	if len(object) > 2 {
		out = append(out, ',')
	}
	return append(out, object[1:]...)
}

func encodeProtobuf(gvk schema.GroupVersionKind, obj runtime.Object) ([]byte, error) {
	message, ok := obj.(protoMarshaler)
	if !ok {
		return nil, &NotProtobufError{Kind: gvk}
	}
	return wrapProtobuf(gvk, message)
}

// wrapProtobuf puts message into the envelope (magic and runtime.Unknown). The result has room for
// a checksum.
func wrapProtobuf(gvk schema.GroupVersionKind, message protoMarshaler) ([]byte, error) {
	e := newEnvelope(gvk, message)
	data := make([]byte, e.length, e.length+checksumSize)
	return data, e.writeTo(data)
}

// envelope is a message about to be wrapped.
type envelope struct {
	unknown runtime.Unknown
	message protoMarshaler
	size    uint64 // of the message
	length  int    // of the whole
}

func newEnvelope(gvk schema.GroupVersionKind, message protoMarshaler) *envelope {
	e := &envelope{message: message, size: uint64(message.Size())}
	e.unknown.APIVersion, e.unknown.Kind = gvk.ToAPIVersionAndKind()
	varint := (max(bits.Len64(e.size), 1) + 6) / 7 // the length of the message takes seven bits a byte
	e.length = len(protoMagic) + e.unknown.Size() + 1 + varint + int(e.size)
	return e
}

// writeTo fills data, which must have the envelope's length.
func (e *envelope) writeTo(data []byte) error {
	n := copy(data, protoMagic)
	written, err := e.unknown.NestedMarshalTo(data[n:], e.message, e.size)
	if err == nil && n+written != len(data) {
		err = fmt.Errorf("%d bytes, not %d", n+written, len(data))
	}
	if err != nil {
		return fmt.Errorf("encoding %s as protobuf: %w", e.unknown.Kind, err)
	}
	return nil
}
