package response

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver/internal/audit"
	"minikcm.dev/minikcm/apiserver/internal/codec"
	"minikcm.dev/minikcm/apiserver/internal/deflate"
	"minikcm.dev/minikcm/apiserver/internal/slowclient"
)

// StatusKind is the kind of error responses.
var StatusKind = schema.GroupVersionKind{Version: "v1", Kind: "Status"}

// gzipAbove is the size above which upstream compresses responses.
const gzipAbove = 128 * 1024

// Bytes sends one document, compressed if it is large and the client accepts that.
func Bytes(w http.ResponseWriter, r *http.Request, code int, contentType string, data []byte) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	if len(data) > gzipAbove && AcceptsGzip(r) {
		h.Set("Content-Encoding", "gzip")
		h.Add("Vary", "Accept-Encoding")
		w.WriteHeader(code)
		if r.Method != http.MethodHead {
			out := slowclient.NewBody(w, r)
			writeCompressed(out, data)
			out.End()
		}
		return
	}
	h.Set("Content-Length", strconv.Itoa(len(data)))
	w.WriteHeader(code)
	if r.Method != http.MethodHead && !give(w, data) {
		slowclient.SendBody(w, r, data)
	}
}

// BodyTaker is a response writer for a client in this process, which reads the handler's data
// in memory. GiveBody is Write without a copy: data must not be modified afterwards. ok is false
// if data must be written instead.
type BodyTaker interface {
	GiveBody(data []byte) (ok bool)
}

// give gives data to w or the writer that it wraps, if one is a BodyTaker.
func give(w http.ResponseWriter, data []byte) (ok bool) {
	for {
		if taker, ok := w.(BodyTaker); ok {
			return taker.GiveBody(data)
		}
		wrapper, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return false
		}
		w = wrapper.Unwrap()
	}
}

// AcceptsGzip reads Accept-Encoding as upstream does: gzip with parameters does not
// match.
func AcceptsGzip(r *http.Request) bool {
	for encoding := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		if strings.TrimSpace(encoding) == "gzip" {
			return true
		}
	}
	return false
}

// compressedPiece is how much of a document is compressed at once.
const compressedPiece = 256 << 10

func writeCompressed(w io.Writer, data []byte) {
	out := deflate.NewStream(w)
	for piece := range slices.Chunk(data, compressedPiece) {
		if _, err := out.Write(piece); err != nil {
			return // the client has disconnected
		}
	}
	_ = out.Close()
}

// Pretty indents JSON if the client requests it, or if the client is a command line tool
// or a browser.
func Pretty(r *http.Request, media codec.Media, data []byte) []byte {
	if media != codec.JSON || !WantsPretty(r) {
		return data
	}
	return Indent(data)
}

// readersAgents returns the User-Agent prefixes of command line tools and browsers, as
// upstream.
func readersAgents() []string { return []string{"curl", "Wget", "Mozilla/5.0"} }

// WantsPretty reports whether the client requests indented JSON, or is a command line tool or
// a browser.
func WantsPretty(r *http.Request) bool {
	if strings.Contains(r.URL.RawQuery, "pretty") {
		if asked := r.URL.Query().Get("pretty"); asked != "" {
			pretty, err := strconv.ParseBool(asked)
			return pretty && err == nil
		}
	}
	return slices.ContainsFunc(readersAgents(), func(agent string) bool { return strings.HasPrefix(r.UserAgent(), agent) })
}

// StatusOf returns the Status for err.
func StatusOf(err error) metav1.Status {
	var known apierrors.APIStatus
	if errors.As(err, &known) {
		status := known.Status()
		if status.Code == 0 {
			status.Code = http.StatusInternalServerError
		}
		if status.Status == "" {
			status.Status = metav1.StatusFailure
		}
		return status
	}
	return apierrors.NewInternalError(err).ErrStatus
}

// Error responds with the Status of err, in a format that the client accepts. A Status has no other
// form, such as a table: to a client that accepts nothing else it is sent as JSON.
func Error(w http.ResponseWriter, r *http.Request, err error) {
	status := StatusOf(err)
	audit.From(r.Context()).Response(r.Context(), StatusKind, &status)
	if seconds := retryAfter(&status); seconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(seconds))
	}
	target, ok := codec.Negotiate(r.Header.Get("Accept"), nil)
	data, encodeErr := codec.Encode(target.Media, StatusKind, &status)
	if encodeErr != nil {
		http.Error(w, encodeErr.Error(), http.StatusInternalServerError)
		return
	}
	if data = Pretty(r, target.Media, data); !ok {
		data = Indent(data) // as upstream, if the client accepts no supported format
	}
	Bytes(w, r, int(status.Code), target.Media.ContentType(), data)
}

func retryAfter(status *metav1.Status) int {
	if status.Details != nil && status.Details.RetryAfterSeconds > 0 {
		return int(status.Details.RetryAfterSeconds)
	}
	return 0
}

// Indent indents a JSON document. It returns data that is not JSON unchanged.
func Indent(data []byte) []byte {
	var document json.RawMessage = data
	out, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		return data
	}
	return append(out, '\n')
}

// Hijackable returns w or the writer that it wraps, whichever supports hijacking. It returns
// an error for HTTP/2 and for a client in this process.
func Hijackable(w http.ResponseWriter) (http.ResponseWriter, error) {
	for {
		if _, ok := w.(http.Hijacker); ok {
			return w, nil
		}
		wrapper, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return nil, apierrors.NewBadRequest("streams need a connection of HTTP/1.1 over the socket")
		}
		w = wrapper.Unwrap()
	}
}
