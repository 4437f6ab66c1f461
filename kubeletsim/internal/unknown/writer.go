package unknown

import (
	"bytes"
	"io"
)

// Writer passes on a command's output to people and other programs: a line of unknown text alone is left
// out, and Text within a line becomes Shown. Close writes the text that is still buffered.
type Writer struct {
	w io.Writer
	// held is the buffered text: the beginning of a Text, or a Text that may be alone on its line.
	held []byte
	// within reports that the line has begun.
	within bool
}

// NewWriter returns a writer in front of w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Write implements io.Writer. It reports all of p as written unless w fails.
func (u *Writer) Write(p []byte) (int, error) {
	if len(u.held) == 0 && bytes.IndexByte(p, Text[0]) < 0 {
		if len(p) > 0 {
			u.within = p[len(p)-1] != '\n'
		}
		return u.w.Write(p)
	}
	data := append(u.held, p...)
	u.held = nil
	return len(p), u.pass(data, false)
}

// Close writes the buffered text. It does not close w.
func (u *Writer) Close() error {
	data := u.held
	u.held = nil
	return u.pass(data, true)
}

func (u *Writer) pass(data []byte, last bool) error {
	var out []byte
	for len(data) > 0 {
		i := bytes.IndexByte(data, Text[0])
		if i < 0 {
			out = u.add(out, data)
			break
		}
		out, data = u.add(out, data[:i]), data[i:]
		rest, found := bytes.CutPrefix(data, []byte(Text))
		switch {
		case !found && !last && bytes.HasPrefix([]byte(Text), data), found && len(rest) == 0 && !last && !u.within:
			u.held = bytes.Clone(data)
			data = nil
		case !found:
			out, data = u.add(out, data[:1]), data[1:]
		case !u.within && (len(rest) == 0 || rest[0] == '\n'):
			data = rest[min(1, len(rest)):]
		default:
			out, data = u.add(out, []byte(Shown)), rest
		}
	}
	if len(out) == 0 {
		return nil
	}
	_, err := u.w.Write(out)
	return err
}

func (u *Writer) add(out, data []byte) []byte {
	if len(data) > 0 {
		u.within = data[len(data)-1] != '\n'
	}
	return append(out, data...)
}
