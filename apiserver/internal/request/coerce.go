package request

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/apiserver/internal/codec"
)

// Read decodes a document or a patched object. A custom object is coerced to its
// schema; for other kinds the Go type does that, and fields that the emulated release
// does not have are unknown.
func (rq *Request) Read(media codec.Media, data []byte, kind schema.GroupVersionKind, into runtime.Object) (obj runtime.Object, got schema.GroupVersionKind, strict, err error) {
	obj, got, strict, err = rq.Env.Decoder.Decode(media, data, kind, into)
	if err != nil || kind != rq.Row.GroupVersionKind || got != kind {
		return obj, got, strict, err
	}
	if rq.Row.Unknown != nil {
		return obj, got, withUnknown(strict, rq.Row.Unknown(obj)), nil
	}
	if rq.Row.Coerce == nil {
		return obj, got, strict, nil
	}
	unknown, err := rq.Row.Coerce(obj, false)
	if err != nil {
		return nil, got, nil, err
	}
	return obj, got, withUnknown(strict, unknown), nil
}

// withUnknown adds unknown fields to the error of a strict decoding.
func withUnknown(strict error, unknown []string) error {
	if len(unknown) == 0 {
		return strict
	}
	var all []error
	if list, ok := runtime.AsStrictDecodingError(strict); ok {
		all = append(all, list.Errors()...)
	}
	for _, path := range unknown {
		all = append(all, fmt.Errorf("unknown field %q", path))
	}
	return runtime.NewStrictDecodingError(all)
}

// hasForm reports whether the response can be encoded as target: custom objects have no
// protobuf encoding, only the kinds that they are transformed to.
func (rq *Request) hasForm(target codec.Target) bool {
	if target.As.Kind == KindTable && (rq.Row.NewList == nil || rq.Sub != nil && rq.Sub.NoTable) {
		return false // reviews and some subresources have no columns
	}
	return target.Media != codec.Protobuf || target.As.Kind != "" || !rq.Row.Custom || rq.Sub != nil && rq.Kind() != rq.Row.GroupVersionKind
}

// PatchTypes returns the patch types of the row, in the order in which a 415 lists
// them.
func (rq *Request) PatchTypes() []string {
	if rq.Row.Custom {
		return customPatchTypes
	}
	return patchTypes
}

// PatchTypes are the accepted types, in the order in which a 415 lists them.
var patchTypes = []string{
	string(types.JSONPatchType), string(types.MergePatchType), string(types.StrategicMergePatchType), string(types.ApplyYAMLPatchType),
}

// customPatchTypes are the types for custom objects: strategic merge patches need a Go
// type that says how lists are merged.
var customPatchTypes = []string{string(types.JSONPatchType), string(types.MergePatchType), string(types.ApplyYAMLPatchType)}
