package reference

import (
	"bytes"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Serializer returns a serializer for the client of the table, which decodes references and
// leaves everything else to inner.
func (t *Table) Serializer(inner runtime.NegotiatedSerializer) runtime.NegotiatedSerializer {
	return serializer{inner, t}
}

type serializer struct {
	runtime.NegotiatedSerializer
	table *Table
}

func (s serializer) DecoderToVersion(inner runtime.Decoder, version runtime.GroupVersioner) runtime.Decoder {
	return decoder{s.NegotiatedSerializer.DecoderToVersion(inner, version), s.table}
}

type decoder struct {
	runtime.Decoder
	table *Table
}

// Decode returns the object that a reference stands for, or decodes data.
func (d decoder) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	if !bytes.HasPrefix(data, magic) {
		return d.Decoder.Decode(data, defaults, into)
	}
	obj, err := d.table.take(data)
	if err != nil {
		return nil, nil, err
	}
	kind := obj.GetObjectKind().GroupVersionKind()
	return obj, &kind, nil
}
