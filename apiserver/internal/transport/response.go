package transport

import (
	"bytes"
	"net/http"
	"strconv"
	"time"
)

// head is the beginning of a response.
type head struct {
	header http.Header
	code   int
}

func (h *head) Header() http.Header { return h.header }

func (h *head) WriteHeader(code int) {
	if h.code == 0 {
		h.code = code
	}
}

// memoryResponse collects a whole response.
type memoryResponse struct {
	head
	body bytes.Buffer
	// given is the beginning of the body if the handler has given it (GiveBody).
	given []byte
}

func (w *memoryResponse) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

// GiveBody is Write without a copy, for a body in one piece that is not modified afterwards
// (response.BodyTaker). ok is false if a part of the body has been written already.
func (w *memoryResponse) GiveBody(data []byte) (ok bool) {
	if w.given != nil || w.body.Len() > 0 {
		return false
	}
	w.WriteHeader(http.StatusOK)
	w.given = data
	return true
}

func (w *memoryResponse) response(req *http.Request) *http.Response {
	w.WriteHeader(http.StatusOK)
	resp := newResponse(req, w.code, w.header)
	body := w.given
	if w.body.Len() > 0 {
		body = append(body[:len(body):len(body)], w.body.Bytes()...)
	}
	resp.ContentLength = int64(len(body))
	resp.Body = &bytesBody{*bytes.NewReader(body)}
	return resp
}

func newResponse(req *http.Request, code int, header http.Header) *http.Response {
	return &http.Response{
		Status: strconv.Itoa(code) + " " + http.StatusText(code), StatusCode: code,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, ContentLength: -1, Request: req,
	}
}

// bytesBody is a body in memory.
type bytesBody struct{ bytes.Reader }

func (*bytesBody) Close() error { return nil }

// streamResponse passes a response on as it is flushed.
type streamResponse struct {
	head
	// started is closed when the response's headers are final.
	started  chan struct{}
	snapshot http.Header
	pipe     *pipe
}

func (w *streamResponse) WriteHeader(code int) {
	if w.code == 0 {
		w.code = code
		w.snapshot = w.header.Clone()
	}
}

func (w *streamResponse) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.pipe.Write(p)
}

// Flush publishes the headers; body bytes are visible as they are written.
func (w *streamResponse) Flush() {
	w.WriteHeader(http.StatusOK)
	select {
	case <-w.started:
	default:
		close(w.started)
	}
}

// SetWriteDeadline makes writes that block beyond t fail, as http.ResponseController
// requires of a writer. Zero means no deadline.
func (w *streamResponse) SetWriteDeadline(t time.Time) error {
	w.pipe.setDeadline(t)
	return nil
}

func (w *streamResponse) finish() {
	w.pipe.finish()
	w.Flush()
}

func (w *streamResponse) streamed(req *http.Request) *http.Response {
	resp := newResponse(req, w.code, w.snapshot)
	resp.Body = w.pipe
	return resp
}
