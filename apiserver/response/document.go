package response

import (
	"compress/gzip"
	"errors"
	"io"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"minikcm.dev/minikcm/apiserver/slowclient"
)

// Document writes a document with code 200 that is encoded in pieces. Until the first
// piece, an error can still be the response.
type Document struct {
	w           http.ResponseWriter
	r           *http.Request
	contentType string
	hold        func(bytes int64) error
	body        *slowclient.Body // nil before the first piece
	out         io.Writer
	compressor  *gzip.Writer
}

const (
	// streamBytes is what a document that is sent in pieces keeps in memory: the piece, and the
	// buffers of the connection.
	streamBytes = 256 << 10
	// compressorBytes is what its compressor takes.
	compressorBytes = 800 << 10
)

// NewDocument returns a Document that is the response to r. Before anything is sent, hold is
// called with the bytes that the document keeps in memory; its error is the response.
func NewDocument(w http.ResponseWriter, r *http.Request, contentType string, hold func(bytes int64) error) *Document {
	return &Document{w: w, r: r, contentType: contentType, hold: hold}
}

// Write sends a piece, compressed if the client accepts that. It blocks until the client has
// read enough of it.
func (d *Document) Write(piece []byte) (int, error) {
	if d.body == nil {
		bytes := int64(streamBytes)
		if AcceptsGzip(d.r) {
			bytes += compressorBytes
		}
		if err := d.hold(bytes); err != nil {
			return 0, err
		}
		d.begin()
	}
	return d.out.Write(piece)
}

func (d *Document) begin() {
	h := d.w.Header()
	h.Set("Content-Type", d.contentType)
	d.body = slowclient.NewBody(d.w, d.r)
	d.out = d.body
	if AcceptsGzip(d.r) {
		h.Set("Content-Encoding", "gzip")
		h.Add("Vary", "Accept-Encoding")
		// The level is valid.
		d.compressor, _ = gzip.NewWriterLevel(d.body, gzip.BestSpeed)
		d.out = d.compressor
	}
	d.w.WriteHeader(http.StatusOK)
	if d.r.Method == http.MethodHead {
		d.out, d.compressor = io.Discard, nil
	}
}

// End sends the last piece, or the whole document with its length if it is the only one.
// err is the error of encoding it: it is returned, to be the response, unless pieces have
// been sent; then End aborts the response, so that the client notices.
func (d *Document) End(rest []byte, err error) error {
	if d.body == nil {
		if status := apierrors.APIStatus(nil); errors.As(err, &status) {
			return err // of hold
		}
		if err != nil {
			return EncodeError(err)
		}
		if err := d.hold(int64(len(rest))); err != nil {
			return err
		}
		Bytes(d.w, d.r, http.StatusOK, d.contentType, rest)
		return nil
	}
	if err == nil {
		_, err = d.out.Write(rest)
	}
	if err == nil && d.compressor != nil {
		err = d.compressor.Close()
	}
	d.body.End()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	return nil
}
