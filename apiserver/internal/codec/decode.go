package codec

import (
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"sigs.k8s.io/yaml"

	"minikcm.dev/minikcm/internal/envelope"
	"minikcm.dev/minikcm/internal/quantityguard"
)

// Decoder decodes the objects that clients send.
type Decoder struct {
	json, yaml, protobuf runtime.Serializer
	scheme               *runtime.Scheme
}

// NewDecoder returns a decoder for the kinds of the scheme.
func NewDecoder(scheme *runtime.Scheme) *Decoder {
	return &Decoder{
		json:     json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme, json.SerializerOptions{Strict: true}),
		yaml:     json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme, json.SerializerOptions{Yaml: true, Strict: true}),
		protobuf: protobuf.NewSerializer(scheme, scheme),
		scheme:   scheme,
	}
}

// Decode decodes one document into into; a document without a kind is decoded as kind want. got is the
// document's kind. The object's TypeMeta is cleared unless it is a custom object. strict has the errors of
// strict decoding (unknown and duplicate fields); the object is valid nevertheless.
func (d *Decoder) Decode(m Media, data []byte, want schema.GroupVersionKind, into runtime.Object) (obj runtime.Object, got schema.GroupVersionKind, strict, err error) {
	serializer := d.json
	switch m {
	case YAML:
		serializer = d.yaml
	case Protobuf:
		serializer = d.protobuf
	}
	if err := d.limitQuantities(m, data, into); err != nil {
		return nil, want, nil, err
	}
	if m == Protobuf && d.decodeWanted(data, want, into) {
		return into, want, nil, nil
	}
	obj, actual, err := serializer.Decode(data, &want, into)
	if actual != nil {
		got = *actual
	}
	if err != nil && runtime.IsStrictDecodingError(err) && obj != nil {
		strict, err = err, nil
	}
	if err != nil {
		return nil, got, nil, err
	}
	clearTypeMeta(obj)
	return obj, got, strict, nil
}

// decodeWanted decodes a protobuf document of the kind want into into, which has that kind, without
// a copy of the message in its envelope. It returns false, whatever into then contains, for all
// other documents, for which the serializer returns the error.
func (d *Decoder) decodeWanted(data []byte, want schema.GroupVersionKind, into runtime.Object) bool {
	message, ok := into.(protoUnmarshaler)
	if !ok {
		return false
	}
	typeMeta, raw, err := envelope.Open(data)
	var own runtime.TypeMeta
	if err != nil || own.Unmarshal(typeMeta) != nil || own.GroupVersionKind() != want {
		return false
	}
	if kinds, _, err := d.scheme.ObjectKinds(into); err != nil || !slices.Contains(kinds, want) {
		return false
	}
	message.Reset()
	return message.Unmarshal(raw) == nil
}

// limitQuantities refuses a document with a quantity that takes long to parse, in an object of the
// document's own kind, which is decoded before it is compared with the wanted one, or of into's type.
func (d *Decoder) limitQuantities(m Media, data []byte, into runtime.Object) error {
	if m == YAML {
		converted, err := yaml.YAMLToJSON(data)
		if err != nil {
			return nil // it is left to the decoder
		}
		data = converted
	}
	if !quantityguard.Suspect(data) {
		return nil
	}
	if m != Protobuf {
		return quantityguard.InJSON(data, d.typesOf(storedKind(data), into)...)
	}
	envelope, ok := envelopeOf(data)
	if !ok {
		return nil // it is left to the decoder
	}
	return quantityguard.InProtobuf(envelope.Raw, d.typesOf(envelope.TypeMeta.GroupVersionKind(), into)...)
}

// typesOf returns the types of into and of a document's own kind, if it is known.
func (d *Decoder) typesOf(kind schema.GroupVersionKind, into runtime.Object) (types []reflect.Type) {
	if into != nil {
		types = append(types, reflect.TypeOf(into))
	}
	if own, err := d.scheme.New(kind); err == nil && !slices.Contains(types, reflect.TypeOf(own)) {
		types = append(types, reflect.TypeOf(own))
	}
	return types
}

// clearTypeMeta clears the TypeMeta, because the row determines an object's kind, except for custom
// objects.
func clearTypeMeta(obj runtime.Object) {
	if !isUntyped(obj) {
		obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
}

// isUntyped reports whether an object is a custom one, which keeps its TypeMeta.
func isUntyped(obj runtime.Object) bool {
	_, untyped := obj.(runtime.Unstructured)
	return untyped
}

type protoUnmarshaler interface {
	Reset()
	Unmarshal(data []byte) error
}
