package audit

import (
	"bufio"
	"net"
	"net/http"
)

// writer records the status code of a response when it begins.
type writer struct {
	http.ResponseWriter
	record *Record
	begun  bool
}

// newWriter returns a writer that supports hijacking if w does.
func newWriter(w http.ResponseWriter, rec *Record) http.ResponseWriter {
	recording := &writer{ResponseWriter: w, record: rec}
	if hijacker, ok := w.(http.Hijacker); ok {
		return &hijackable{recording, hijacker}
	}
	return recording
}

func (w *writer) begin(code int) {
	if !w.begun {
		w.begun = true
		w.record.answered(code)
	}
}

// WriteHeader implements http.ResponseWriter.
func (w *writer) WriteHeader(code int) {
	w.begin(code)
	w.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (w *writer) Write(p []byte) (int, error) {
	w.begin(http.StatusOK)
	return w.ResponseWriter.Write(p)
}

// Flush flushes the underlying writer if it supports that.
func (w *writer) Flush() {
	if f, ok := w.ResponseWriter.(http.Flusher); ok {
		w.begin(http.StatusOK)
		f.Flush()
	}
}

// Unwrap lets http.ResponseController find the underlying writer.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// hijackable is a writer on a connection of HTTP/1.1, which may change its protocol.
type hijackable struct {
	*writer
	hijacker http.Hijacker
}

// Hijack implements http.Hijacker.
func (w *hijackable) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	w.begin(http.StatusSwitchingProtocols)
	return w.hijacker.Hijack()
}
