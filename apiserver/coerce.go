package apiserver

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver/codec"
)

// read decodes a document that a client sent or patched. A custom object gets the
// shape that its schema asks for, which for others their Go type sees to.
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

// withUnknown adds unknown fields to what a strict reading objects to.
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

// hasForm reports whether the answer can be had in a form: custom objects have no
// protobuf one, only what they are transformed to.
func (rq *request) hasForm(target codec.Target) bool {
	if target.As.Kind == kindTable && rq.row.Asked {
		return false // reviews have no columns
	}
	return target.Media != codec.Protobuf || target.As.Kind != "" || !rq.row.Custom || rq.sub != nil && rq.kind() != rq.row.GroupVersionKind
}

// patchTypes are the patches that the row takes, in the order that a 415 names them.
func (rq *request) patchTypes() []string {
	if rq.row.Custom {
		return customPatchTypes
	}
	return patchTypes
}
