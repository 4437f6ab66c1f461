package kubeletsim

import (
	"bytes"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/kubeletsim/script"
)

// logTime is how kubelets write the times of lines.
const logTime = "2006-01-02T15:04:05.000000000Z07:00"

// logWriter writes those lines that are asked for, in the form that is asked for.
type logWriter struct {
	w          io.Writer
	buf        bytes.Buffer
	timestamps bool
	since      time.Time
	from       script.Stream
	// left is how many bytes may still be written; negative: any number.
	left int64
	err  error
}

func newLogWriter(w io.Writer, opts *corev1.PodLogOptions, now time.Time) *logWriter {
	out := &logWriter{w: w, timestamps: opts.Timestamps, left: -1}
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

func (o *logWriter) full() bool { return o.left == 0 }

func (o *logWriter) line(line logLine) {
	if line.at.Before(o.since) || o.from != "" && o.from != line.from {
		return
	}
	if o.timestamps {
		o.text(line.at.UTC().Format(logTime) + " ")
	}
	o.text(line.text)
}

func (o *logWriter) text(text string) {
	if o.left >= 0 {
		text = text[:min(int64(len(text)), o.left)]
		o.left -= int64(len(text))
	}
	o.buf.WriteString(text)
}

// flush sends what has been written so far.
func (o *logWriter) flush() error {
	if o.err == nil && o.buf.Len() > 0 {
		_, o.err = o.w.Write(o.buf.Bytes())
	}
	o.buf.Reset()
	return o.err
}
