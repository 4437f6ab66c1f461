package resources

import (
	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/apimachinery/pkg/fields"
)

// PackedField says where the protobuf form of a kind has the value of a selectable field: at the
// first of the paths that is not empty. A path is the numbers of the fields that lead to it, as in
// the API's generated.proto.
type PackedField [][]protowire.Number

// PackedFields is FieldsOf for an encoded object of a row with Packed. message is its protobuf
// form, without the envelope.
func (r *Resource) PackedFields(message []byte) fields.Fields {
	return packedFields{row: r, message: message}
}

type packedFields struct {
	row     *Resource
	message []byte
}

func (f packedFields) Has(label string) bool { return f.row.selects(label) }

func (f packedFields) Get(label string) string {
	for _, path := range f.row.Packed[label] {
		if value := fieldAt(f.message, path); len(value) > 0 {
			return string(value)
		}
	}
	return ""
}

// fieldAt returns the bytes of the field at a path; nil if there is none. Of a field that a message
// has twice, the last one counts.
func fieldAt(message []byte, path []protowire.Number) (value []byte) {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return nil
		}
		message = message[n:]
		if n = protowire.ConsumeFieldValue(number, kind, message); n < 0 {
			return nil
		}
		if number == path[0] && kind == protowire.BytesType {
			value, _ = protowire.ConsumeBytes(message)
		}
		message = message[n:]
	}
	if len(path) == 1 || value == nil {
		return value
	}
	return fieldAt(value, path[1:])
}
