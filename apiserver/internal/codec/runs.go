package codec

import (
	"io"

	"minikcm.dev/minikcm/apiserver/internal/deflate"
)

// Runs cuts the items of a list into runs of consecutive items, whose encodings it may keep.
type Runs interface {
	// End returns the end of the run that starts with item i.
	End(i int) int
	// Plain returns the encoding of the run from i to end, which encode makes if it is not
	// kept. It must not be modified.
	Plain(i, end int, encode func() ([]byte, error)) ([]byte, error)
	// Compressed is Plain for the compressed encoding.
	Compressed(i, end int, encode func() ([]byte, error)) (*deflate.Part, error)
	// Len returns the length of the encoding if it is kept.
	Len(i, end int) (n int, ok bool)
}

// RunWriter is the writer of a list that is encoded in runs.
type RunWriter interface {
	io.Writer
	// Compresses reports whether the writer compresses its input. Then it takes runs as parts.
	Compresses() bool
	Append(part *deflate.Part) error
}

// EncodeRuns is Encode as JSON, not indented, or as protobuf, with the same result, for a list
// whose runs may be kept.
func (l *List) EncodeRuns(w RunWriter, m Media, kept Runs) (rest []byte, err error) {
	r := &runs{w: w, kept: kept, items: l.Items.Len()}
	if m == Protobuf {
		return l.encodeProtobufRuns(r)
	}
	d := newDocument(w, l.Items.Len(), false)
	d.runs = r
	return l.encodeJSON(d)
}

func (l *List) encodeProtobufRuns(r *runs) ([]byte, error) {
	if l.Untyped || l.Table != nil {
		return nil, &NotProtobufError{Kind: l.Kind}
	}
	size := 0
	for i := 0; i < r.items; {
		end := r.kept.End(i)
		n, err := l.protobufRunSize(r, i, end)
		if err != nil {
			return nil, err
		}
		size, i = size+n, end
	}
	p := newPieces(r.w, l.Kind, &l.Meta, size)
	var err error
	if p.buf, err = r.join(p.buf, l.protobufRun); err != nil {
		return nil, err
	}
	return p.end(), nil
}

func (l *List) protobufRunSize(r *runs, i, end int) (size int, err error) {
	if n, ok := r.kept.Len(i, end); ok {
		return n, nil
	}
	for ; i < end; i++ {
		item, err := l.protobufItem(i)
		if err != nil {
			return 0, err
		}
		size += messageSize(item.Size())
	}
	return size, nil
}

// protobufRun returns the encoding of the items from i to end.
func (l *List) protobufRun(i, end int) (out []byte, err error) {
	for ; i < end; i++ {
		item, err := l.protobufItem(i)
		if err != nil {
			return nil, err
		}
		if out, err = appendMessage(out, 2, item, item.Size()); err != nil {
			return nil, l.protobufError(i, err)
		}
	}
	return out, nil
}

// runs joins the runs of a list.
type runs struct {
	w     RunWriter
	kept  Runs
	items int
	// unsent are the runs in the buffer, until it is the first piece.
	unsent []unsentRun
	begun  bool
}

// unsentRun is a run, from item i to end, in the buffer, from byte from to byte to.
type unsentRun struct{ i, end, from, to int }

// join appends the encodings of all runs to buf, and writes it whenever it makes a piece. It
// returns the bytes that are not written yet.
func (r *runs) join(buf []byte, encode func(i, end int) ([]byte, error)) ([]byte, error) {
	for i := 0; i < r.items; {
		end := r.kept.End(i)
		var err error
		if buf, err = r.add(buf, i, end, func() ([]byte, error) { return encode(i, end) }); err != nil {
			return nil, err
		}
		i = end
	}
	return buf, nil
}

func (r *runs) add(buf []byte, i, end int, encode func() ([]byte, error)) ([]byte, error) {
	if r.begun && r.w.Compresses() {
		return buf, r.appendCompressed(i, end, encode)
	}
	data, err := r.kept.Plain(i, end, encode)
	if err != nil {
		return nil, err
	}
	if len(data) >= pieceSize/4 && r.begun { // written without a copy
		if len(buf) > 0 {
			if _, err := r.w.Write(buf); err != nil {
				return nil, err
			}
		}
		_, err = r.w.Write(data)
		return buf[:0], err
	}
	if !r.begun {
		r.unsent = append(r.unsent, unsentRun{i, end, len(buf), len(buf) + len(data)})
	}
	if buf = append(buf, data...); len(buf) < pieceSize {
		return buf, nil
	}
	return buf[:0], r.write(buf)
}

// write writes a piece, the first one as the runs in it if they are compressed.
func (r *runs) write(buf []byte) error {
	if r.begun || !r.w.Compresses() {
		r.begun = true
		_, err := r.w.Write(buf)
		return err
	}
	r.begun = true
	if _, err := r.w.Write(buf[:r.unsent[0].from]); err != nil {
		return err
	}
	for _, run := range r.unsent {
		if err := r.appendCompressed(run.i, run.end, func() ([]byte, error) { return buf[run.from:run.to], nil }); err != nil {
			return err
		}
	}
	return nil
}

func (r *runs) appendCompressed(i, end int, encode func() ([]byte, error)) error {
	part, err := r.kept.Compressed(i, end, encode)
	if err != nil {
		return err
	}
	return r.w.Append(part)
}
