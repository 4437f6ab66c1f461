package apiserver

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver/codec"
)

// read decodes a document or a patched object. A custom object is coerced to its
// schema; for other kinds the Go type does that.
func (rq *request) read(media codec.Media, data []byte, kind schema.GroupVersionKind, into runtime.Object) (obj runtime.Object, got schema.GroupVersionKind, strict, err error) {
	obj, got, strict, err = rq.server.decoder.Decode(media, data, kind, into)
	if err != nil || rq.row.Coerce == nil || kind != rq.row.GroupVersionKind || got != kind {
		return obj, got, strict, err
	}
	unknown, err := rq.row.Coerce(obj, false)
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
func (rq *request) hasForm(target codec.Target) bool {
	if target.As.Kind == kindTable && rq.row.NewList == nil {
		return false // reviews have no columns
	}
	return target.Media != codec.Protobuf || target.As.Kind != "" || !rq.row.Custom || rq.sub != nil && rq.kind() != rq.row.GroupVersionKind
}

// patchTypes returns the patch types of the row, in the order in which a 415 lists
// them.
func (rq *request) patchTypes() []string {
	if rq.row.Custom {
		return customPatchTypes
	}
	return patchTypes
}
