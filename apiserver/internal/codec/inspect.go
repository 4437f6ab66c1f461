package codec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/internal/envelope"
)

// Stored is the identity of a stored object. Its fields are empty as far as they are not
// known.
type Stored struct {
	Kind            schema.GroupVersionKind
	Namespace, Name string
}

// encrypted is the prefix of values that an apiserver has encrypted.
const encrypted = "k8s:enc:"

// InspectStored decodes a stored value of any kind, as DecodeStored does. Kinds that the
// decoder's scheme does not know are only checked as far as their encoding allows, and
// encrypted values not at all. If the value is damaged, the error says how, and the identity
// is read from the value's beginning.
func (d *Decoder) InspectStored(scheme *runtime.Scheme, data []byte) (Stored, error) {
	if bytes.HasPrefix(data, []byte(encrypted)) {
		return Stored{}, nil
	}
	stored := Stored{Kind: storedKind(data)}
	into := runtime.Object(&unstructured.Unstructured{})
	if scheme.Recognizes(stored.Kind) {
		known, err := scheme.New(stored.Kind)
		if err != nil {
			return stored, fmt.Errorf("making a %s: %w", stored.Kind.Kind, err)
		}
		into = known
	} else if bytes.HasPrefix(data, envelope.Magic) {
		return stored, VerifyStored(data)
	}
	if err := d.DecodeStored(data, into); err != nil {
		return stored, err
	}
	if object, ok := into.(metav1.Object); ok {
		stored.Namespace, stored.Name = object.GetNamespace(), object.GetName()
	}
	if stored.Kind.Kind == "" {
		return stored, errors.New("the stored value has no kind")
	}
	return stored, nil
}

// storedKind returns the kind that a stored value begins with.
func storedKind(data []byte) schema.GroupVersionKind {
	if unknown, ok := envelopeOf(data); ok {
		return unknown.TypeMeta.GroupVersionKind()
	}
	var meta metav1.TypeMeta
	if json.Unmarshal(data, &meta) != nil {
		return schema.GroupVersionKind{}
	}
	return meta.GroupVersionKind()
}

// envelopeOf returns the envelope of an object in protobuf; ok is false if data has none.
func envelopeOf(data []byte) (unknown runtime.Unknown, ok bool) {
	message, ok := bytes.CutPrefix(data, envelope.Magic)
	if !ok || unknown.Unmarshal(message) != nil {
		return runtime.Unknown{}, false
	}
	return unknown, true
}
