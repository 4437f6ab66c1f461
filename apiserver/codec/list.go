package codec

import (
	"encoding/binary"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// Items gives access to the items of a list, in order, without copying them into a slice of
// structs.
type Items interface {
	Len() int
	At(i int) runtime.Object
}

// EncodeList encodes a list of typed objects as one document. Every API list is {metadata,
// items} in JSON and the fields 1 and 2 in protobuf, so the items can be encoded one by one
// without building the list.
func EncodeList(m Media, listKind schema.GroupVersionKind, meta metav1.ListMeta, items Items) ([]byte, error) {
	switch m {
	case Protobuf:
		return encodeListProtobuf(listKind, meta, items)
	case YAML:
		data, err := encodeListJSON(listKind, meta, items)
		if err != nil {
			return nil, err
		}
		return yaml.JSONToYAML(data)
	default:
		return encodeListJSON(listKind, meta, items)
	}
}

func encodeListJSON(listKind schema.GroupVersionKind, meta metav1.ListMeta, items Items) ([]byte, error) {
	head, err := json.Marshal(meta)
	if err != nil {
		return nil, fmt.Errorf("encoding the metadata of a %s: %w", listKind.Kind, err)
	}
	out := make([]byte, 0, 256+items.Len()*512)
	out = append(out, `{"kind":"`...)
	out = append(out, listKind.Kind...)
	out = append(out, `","apiVersion":"`...)
	out = append(out, listKind.GroupVersion().String()...)
	out = append(out, `","metadata":`...)
	out = append(out, head...)
	out = append(out, `,"items":[`...)
	if out, err = appendItems(out, listKind, items); err != nil {
		return nil, err
	}
	return append(out, "]}\n"...), nil
}

func appendItems(out []byte, listKind schema.GroupVersionKind, items Items) ([]byte, error) {
	for i := range items.Len() {
		if i > 0 {
			out = append(out, ',')
		}
		data, err := json.Marshal(jsonForm(items.At(i)))
		if err != nil {
			return nil, fmt.Errorf("encoding item %d of a %s: %w", i, listKind.Kind, err)
		}
		out = append(out, data...)
	}
	return out, nil
}

// EncodeUntypedList encodes a list of custom objects as one document, as upstream encodes
// an UnstructuredList: its fields are in alphabetical order, and an empty metadata.continue
// is included.
func EncodeUntypedList(m Media, listKind schema.GroupVersionKind, meta metav1.ListMeta, items Items) ([]byte, error) {
	if m == Protobuf {
		return nil, &NotProtobufError{Kind: listKind}
	}
	metadata := map[string]any{"continue": meta.Continue, "resourceVersion": meta.ResourceVersion}
	if meta.RemainingItemCount != nil {
		metadata["remainingItemCount"] = *meta.RemainingItemCount
	}
	tail, err := json.Marshal(metadata)
	if err != nil {
		return nil, fmt.Errorf("encoding the metadata of a %s: %w", listKind.Kind, err)
	}
	out := make([]byte, 0, 256+items.Len()*512)
	out = append(out, `{"apiVersion":"`...)
	out = append(out, listKind.GroupVersion().String()...)
	out = append(out, `","items":[`...)
	if out, err = appendItems(out, listKind, items); err != nil {
		return nil, err
	}
	out = append(out, `],"kind":"`...)
	out = append(out, listKind.Kind...)
	out = append(out, `","metadata":`...)
	out = append(out, tail...)
	out = append(out, "}\n"...)
	if m == YAML {
		return yaml.JSONToYAML(out)
	}
	return out, nil
}

// protoList is a list message: field 1 is the ListMeta, field 2 the items.
type protoList struct {
	meta  metav1.ListMeta
	items []protoMarshaler
	sizes []int
	size  int
}

func newProtoList(listKind schema.GroupVersionKind, meta metav1.ListMeta, items Items) (*protoList, error) {
	l := &protoList{meta: meta, items: make([]protoMarshaler, items.Len()), sizes: make([]int, items.Len())}
	l.size = fieldSize(meta.Size())
	for i := range l.items {
		message, ok := items.At(i).(protoMarshaler)
		if !ok {
			return nil, &NotProtobufError{Kind: listKind}
		}
		l.items[i], l.sizes[i] = message, message.Size()
		l.size += fieldSize(l.sizes[i])
	}
	return l, nil
}

// fieldSize returns the size of an embedded message of n bytes with its tag and length.
func fieldSize(n int) int {
	size := 2 + n
	for v := uint64(n); v >= 0x80; v >>= 7 {
		size++
	}
	return size
}

func (l *protoList) Size() int { return l.size }

func (l *protoList) MarshalTo(data []byte) (int, error) {
	at := 0
	put := func(field int, message protoMarshaler, size int) error {
		data[at] = byte(field<<3 | 2)
		at++
		at += binary.PutUvarint(data[at:], uint64(size))
		n, err := message.MarshalTo(data[at : at+size])
		if err == nil && n != size {
			err = fmt.Errorf("%T wrote %d bytes where it announced %d", message, n, size)
		}
		at += n
		return err
	}
	if err := put(1, &l.meta, l.meta.Size()); err != nil {
		return 0, err
	}
	for i, item := range l.items {
		if err := put(2, item, l.sizes[i]); err != nil {
			return 0, err
		}
	}
	return at, nil
}

func encodeListProtobuf(listKind schema.GroupVersionKind, meta metav1.ListMeta, items Items) ([]byte, error) {
	list, err := newProtoList(listKind, meta, items)
	if err != nil {
		return nil, err
	}
	return wrapProtobuf(listKind, list)
}
