package codec

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"minikcm.dev/minikcm/internal/envelope"
)

type protoMarshaler = envelope.Message

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

// wrapProtobuf puts message into its envelope. The result has room for a checksum.
func wrapProtobuf(gvk schema.GroupVersionKind, message protoMarshaler) ([]byte, error) {
	e := envelope.New(gvk, message)
	data := make([]byte, e.Length, e.Length+checksumSize)
	return data, e.WriteTo(data)
}
