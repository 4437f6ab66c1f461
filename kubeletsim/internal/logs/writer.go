package logs

import (
	"bytes"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/kubeletsim/internal/script"
)

// logTime is the format of timestamps in a kubelet's logs.
const logTime = "2006-01-02T15:04:05.000000000Z07:00"

// Writer writes the lines that a log request selects, with timestamps if it asks for them.
type Writer struct {
	w          io.Writer
	buf        bytes.Buffer
	timestamps bool
	since      time.Time
	from       script.Stream
	// left is the number of bytes that may still be written; negative: unlimited.
	left int64
	Err  error
}

func NewWriter(w io.Writer, opts *corev1.PodLogOptions, now time.Time) *Writer {
	out := &Writer{w: w, timestamps: opts.Timestamps, left: -1}
	switch {
	case opts.SinceTime != nil:
		out.since = opts.SinceTime.Time
	case opts.SinceSeconds != nil:
		out.since = now.Add(-time.Duration(*opts.SinceSeconds) * time.Second)
	}
	if opts.Stream != nil && *opts.Stream != corev1.LogStreamAll {
		out.from = script.Stream(*opts.Stream)
	}
	if opts.LimitBytes != nil {
		out.left = *opts.LimitBytes
	}
	return out
}

func (o *Writer) Full() bool { return o.left == 0 }

func (o *Writer) Line(line Line) {
	if line.At.Before(o.since) || o.from != "" && o.from != line.From {
		return
	}
	if o.timestamps {
		o.text(line.At.UTC().Format(logTime) + " ")
	}
	o.text(line.Text)
}

func (o *Writer) text(text string) {
	if o.left >= 0 {
		text = text[:min(int64(len(text)), o.left)]
		o.left -= int64(len(text))
	}
	o.buf.WriteString(text)
}

// Flush writes the buffered lines to the reader.
func (o *Writer) Flush() error {
	if o.Err == nil && o.buf.Len() > 0 {
		_, o.Err = o.w.Write(o.buf.Bytes())
	}
	o.buf.Reset()
	return o.Err
}
