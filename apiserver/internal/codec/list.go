package codec

import (
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// pieceSize is the number of encoded bytes from which List.Encode writes them.
const pieceSize = 128 << 10

// Items gives access to the items of a list, in order, without copying them into a slice of
// structs.
type Items interface {
	Len() int
	// At returns the value that is encoded as the i-th item: an object, or a row of a
	// Table. It may be called twice for one item.
	At(i int) (any, error)
}

// List is a list of objects, or a Table. It is encoded item by item, so that the whole
// document is in memory only if it is small.
type List struct {
	Kind schema.GroupVersionKind
	Meta metav1.ListMeta
	// Untyped selects upstream's form of an UnstructuredList: the fields are in
	// alphabetical order, and an empty metadata.continue is included.
	Untyped bool
	// Table says that the items are the rows of a Table with these columns. Its Columns
	// are nil if the client leaves them out.
	Table *Table
	Items Items
	// NullItems says that a list without items has null in their place, as upstream's lists of metadata.
	NullItems bool
}

// Table holds the parts of a Table other than its rows.
type Table struct {
	Columns []metav1.TableColumnDefinition
}

// Encode encodes the list as one document; JSON is indented if indent is set. It writes
// pieces of the document to w and returns the last piece, which it has not written: the
// whole document if it is small, or if w is nil. YAML is always one piece. If an error
// occurs after the first write, the document is incomplete.
func (l *List) Encode(w io.Writer, m Media, indent bool) (rest []byte, err error) {
	switch m {
	case Protobuf:
		return l.encodeProtobuf(w)
	case YAML:
		data, err := l.encodeJSON(newDocument(nil, l.Items.Len(), false))
		if err != nil {
			return nil, err
		}
		return yaml.JSONToYAML(data)
	default:
		return l.encodeJSON(newDocument(w, l.Items.Len(), indent))
	}
}

func (l *List) encodeJSON(d *document) ([]byte, error) {
	if l.Untyped {
		metadata := map[string]any{"continue": l.Meta.Continue, "resourceVersion": l.Meta.ResourceVersion}
		if l.Meta.RemainingItemCount != nil {
			metadata["remainingItemCount"] = *l.Meta.RemainingItemCount
		}
		d.field("apiVersion", l.Kind.GroupVersion().String())
		d.items("items", l.Items)
		d.field("kind", l.Kind.Kind)
		d.field("metadata", metadata)
		return d.end(l.Kind)
	}
	d.field("kind", l.Kind.Kind)
	d.field("apiVersion", l.Kind.GroupVersion().String())
	d.field("metadata", l.Meta)
	switch {
	case l.NullItems && l.Items.Len() == 0:
		d.field("items", nil)
	case l.Table == nil:
		d.items("items", l.Items)
	default:
		d.field("columnDefinitions", l.Table.Columns)
		d.items("rows", l.Items)
	}
	return d.end(l.Kind)
}

func (l *List) encodeProtobuf(w io.Writer) ([]byte, error) {
	if l.Untyped || l.Table != nil {
		return nil, &NotProtobufError{Kind: l.Kind}
	}
	sizes := make([]int, l.Items.Len())
	size := 0
	for i := range sizes {
		item, err := l.protobufItem(i)
		if err != nil {
			return nil, err
		}
		sizes[i] = item.Size()
		size += messageSize(sizes[i])
	}
	p := newPieces(w, l.Kind, &l.Meta, size)
	for i, size := range sizes {
		item, err := l.protobufItem(i)
		if err != nil {
			return nil, err
		}
		if err := p.message(2, item, size); err != nil {
			return nil, l.protobufError(i, err)
		}
	}
	return p.end(), nil
}

func (l *List) protobufError(i int, err error) error {
	return fmt.Errorf("encoding item %d of a %s as protobuf: %w", i, l.Kind.Kind, err)
}

func (l *List) protobufItem(i int) (protoMarshaler, error) {
	item, err := l.Items.At(i)
	if err != nil {
		return nil, err
	}
	message, ok := item.(protoMarshaler)
	if !ok {
		return nil, &NotProtobufError{Kind: l.Kind}
	}
	return message, nil
}
