package response

import "net/http"

// CodeWriter records the status code of a response.
type CodeWriter struct {
	http.ResponseWriter
	// Code is the status code, 0 until one has been written.
	Code int
}

// WriteHeader implements http.ResponseWriter.
func (w *CodeWriter) WriteHeader(code int) {
	if w.Code == 0 {
		w.Code = code
	}
	w.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (w *CodeWriter) Write(p []byte) (int, error) {
	if w.Code == 0 {
		w.Code = http.StatusOK
	}
	return w.ResponseWriter.Write(p)
}

// Flush flushes the underlying writer if it supports that.
func (w *CodeWriter) Flush() {
	if f, ok := w.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
}

// Unwrap lets http.ResponseController find the underlying writer.
func (w *CodeWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
