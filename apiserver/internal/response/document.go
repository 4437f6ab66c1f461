package response

import (
	"errors"
	"io"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"minikcm.dev/minikcm/apiserver/internal/deflate"
	"minikcm.dev/minikcm/apiserver/internal/slowclient"
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
	compressed  *deflate.Stream // nil if the client gets the document as it is
}

const (
	// streamBytes is the memory that a document sent in pieces takes: the piece, and the
	// buffers of the connection.
	streamBytes = 256 << 10
	// compressorBytes is the memory that its compressor takes.
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
	if err := d.begin(); err != nil {
		return 0, err
	}
	return d.out.Write(piece)
}

// Append is Write for a piece that has been compressed, for a client that accepts that.
func (d *Document) Append(part *deflate.Part) error {
	if err := d.begin(); err != nil || d.compressed == nil {
		return err // nil: the body is not sent
	}
	return d.compressed.Append(part)
}

// Compresses reports whether the client accepts compressed pieces.
func (d *Document) Compresses() bool { return AcceptsGzip(d.r) }

// begin sends the header before the first piece.
func (d *Document) begin() error {
	if d.body != nil {
		return nil
	}
	bytes := int64(streamBytes)
	if d.Compresses() {
		bytes += compressorBytes
	}
	if err := d.hold(bytes); err != nil {
		return err
	}
	h := d.w.Header()
	h.Set("Content-Type", d.contentType)
	d.body = slowclient.NewBody(d.w, d.r)
	d.out = d.body
	if d.Compresses() {
		h.Set("Content-Encoding", "gzip")
		h.Add("Vary", "Accept-Encoding")
		d.compressed = deflate.NewStream(d.body)
		d.out = d.compressed
	}
	d.w.WriteHeader(http.StatusOK)
	if d.r.Method == http.MethodHead {
		d.out, d.compressed = io.Discard, nil
	}
	return nil
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
	if err == nil && d.compressed != nil {
		err = d.compressed.Close()
	}
	d.body.End()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	return nil
}
