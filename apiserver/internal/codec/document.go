package codec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// document is a JSON object that is encoded field by field and written in pieces. After an
// error, nothing more is encoded.
type document struct {
	w      io.Writer // nil if the document is not written in pieces
	runs   *runs     // nil if the items are encoded one by one
	buf    []byte
	indent bool
	fields int
	err    error
}

func newDocument(w io.Writer, items int, indent bool) *document {
	size := 256 + items*512
	if w != nil {
		size = min(size, pieceSize)
	}
	return &document{w: w, indent: indent, buf: make([]byte, 0, size)}
}

// field appends a field.
func (d *document) field(name string, value any) {
	d.name(name)
	d.value(value, "  ")
}

// items appends a field with an array.
func (d *document) items(name string, items Items) {
	d.name(name)
	d.buf = append(d.buf, '[')
	n := items.Len()
	if d.runs != nil {
		d.buf, d.err = d.runs.join(d.buf, func(i, end int) ([]byte, error) { return jsonRun(items, i, end) })
		n = 0
	}
	for i := 0; i < n && d.err == nil; i++ {
		if i > 0 {
			d.buf = append(d.buf, ',')
		}
		d.newLine("    ")
		item, err := jsonItem(items, i)
		if err != nil {
			d.err = err
			return
		}
		d.value(item, "    ")
		d.flush()
	}
	if n > 0 {
		d.newLine("  ")
	}
	d.buf = append(d.buf, ']')
}

// jsonItem returns the value to marshal for the i-th item.
func jsonItem(items Items, i int) (any, error) {
	item, err := items.At(i)
	if obj, ok := item.(runtime.Object); ok {
		item = jsonForm(obj)
	}
	return item, err
}

// jsonRun returns the encoding of the items from i to end, with the comma after the item before.
func jsonRun(items Items, i, end int) ([]byte, error) {
	var out []byte
	for ; i < end; i++ {
		if i > 0 {
			out = append(out, ',')
		}
		item, err := jsonItem(items, i)
		if err != nil {
			return nil, err
		}
		data, err := marshal(item)
		if err != nil {
			return nil, err
		}
		out = append(out, data...)
	}
	return out, nil
}

func (d *document) name(name string) {
	if d.fields == 0 {
		d.buf = append(d.buf, '{')
	} else {
		d.buf = append(d.buf, ',')
	}
	d.fields++
	d.newLine("  ")
	d.buf = append(append(append(d.buf, '"'), name...), `":`...)
	if d.indent {
		d.buf = append(d.buf, ' ')
	}
}

func (d *document) newLine(prefix string) {
	if d.indent {
		d.buf = append(append(d.buf, '\n'), prefix...)
	}
}

// value appends a value whose further lines begin with prefix.
func (d *document) value(value any, prefix string) {
	if d.err != nil {
		return
	}
	data, err := marshal(value)
	if err != nil {
		d.err = err
		return
	}
	if !d.indent {
		d.buf = append(d.buf, data...)
		return
	}
	out := bytes.NewBuffer(d.buf)
	d.err = json.Indent(out, data, prefix, "  ")
	d.buf = out.Bytes()
}

// marshal is json.Marshal. The object of a Table's row, which is most of it, has been marshalled
// and is not read again.
func marshal(value any) ([]byte, error) {
	row, ok := value.(metav1.TableRow)
	if !ok || len(row.Conditions) > 0 || row.Object.Raw == nil {
		return json.Marshal(value)
	}
	cells, err := json.Marshal(row.Cells)
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, len(cells)+len(row.Object.Raw)+32)
	out = append(append(out, `{"cells":`...), cells...)
	out = append(append(out, `,"object":`...), trimNewline(row.Object.Raw)...)
	return append(out, '}'), nil
}

// flush writes the encoded bytes if they make a piece.
func (d *document) flush() {
	if d.w == nil || d.err != nil || len(d.buf) < pieceSize {
		return
	}
	_, d.err = d.w.Write(d.buf)
	d.buf = d.buf[:0]
}

// end returns the bytes that are not written yet.
func (d *document) end(kind schema.GroupVersionKind) ([]byte, error) {
	if d.err != nil {
		return nil, fmt.Errorf("encoding a %s as JSON: %w", kind.Kind, d.err)
	}
	d.newLine("")
	return append(d.buf, "}\n"...), nil
}
