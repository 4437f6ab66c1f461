package apiserver

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"minikcm.dev/minikcm/apiserver/codec"
)

var statusKind = schema.GroupVersionKind{Version: "v1", Kind: "Status"}

// gzipAbove is the size from which upstream compresses answers.
const gzipAbove = 128 * 1024

// writeBytes sends one document.
func writeBytes(w http.ResponseWriter, r *http.Request, code int, contentType string, data []byte) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	if len(data) > gzipAbove && acceptsGzip(r) {
		h.Set("Content-Encoding", "gzip")
		h.Add("Vary", "Accept-Encoding")
		w.WriteHeader(code)
		if r.Method != http.MethodHead {
			out := newBodyWriter(w, r)
			writeCompressed(out, data)
			out.end()
		}
		return
	}
	h.Set("Content-Length", strconv.Itoa(len(data)))
	w.WriteHeader(code)
	if r.Method != http.MethodHead {
		sendBody(w, r, data)
	}
}

// acceptsGzip reads Accept-Encoding as upstream does: a gzip with parameters is not
// meant.
func acceptsGzip(r *http.Request) bool {
	for encoding := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		if strings.TrimSpace(encoding) == "gzip" {
			return true
		}
	}
	return false
}

func writeCompressed(w io.Writer, data []byte) {
	compressor, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return
	}
	// A failed write means that the client has gone.
	_, _ = compressor.Write(data)
	_ = compressor.Close()
}

// writeObject sends an object that is not transformed.
func (rq *request) writeObject(code int, gvk schema.GroupVersionKind, obj runtime.Object) error {
	data, err := codec.Encode(rq.target.Media, gvk, obj)
	if err != nil {
		return encodeError(err)
	}
	writeBytes(rq.w, rq.r, code, rq.target.Media.ContentType(), rq.pretty(data))
	return nil
}

// pretty indents JSON for a client that asks for it, or before which a person sits.
func (rq *request) pretty(data []byte) []byte {
	if rq.target.Pretty && rq.target.Media == codec.JSON {
		return indent(data)
	}
	return prettyFor(rq.r, rq.target.Media, data)
}

func prettyFor(r *http.Request, media codec.Media, data []byte) []byte {
	if media != codec.JSON || !wantsPretty(r) {
		return data
	}
	return indent(data)
}

// readersAgents are what the User-Agents of command line tools and browsers begin
// with, as upstream knows them.
func readersAgents() []string { return []string{"curl", "Wget", "Mozilla/5.0"} }

func wantsPretty(r *http.Request) bool {
	if strings.Contains(r.URL.RawQuery, "pretty") {
		if asked := r.URL.Query().Get("pretty"); asked != "" {
			pretty, err := strconv.ParseBool(asked)
			return pretty && err == nil
		}
	}
	return slices.ContainsFunc(readersAgents(), func(agent string) bool { return strings.HasPrefix(r.UserAgent(), agent) })
}

func encodeError(err error) error {
	var notProtobuf *codec.NotProtobufError
	if errors.As(err, &notProtobuf) {
		return notAcceptable()
	}
	return apierrors.NewInternalError(err)
}

// newStatus builds a Status error that apierrors has no constructor for.
func newStatus(code int, reason metav1.StatusReason, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message,
	}}
}

func notAcceptable() error { return acceptedAre(codec.Supported()) }

func acceptedAre(types []string) error {
	return newStatus(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable,
		"only the following media types are accepted: "+strings.Join(types, ", "))
}

func unsupportedMediaType(accepted ...string) error {
	return newStatus(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType,
		"the body of the request was in an unknown format - accepted media types include: "+strings.Join(accepted, ", "))
}

// inputMedia is the format that Content-Type names; JSON when it names none.
func inputMedia(r *http.Request) (codec.Media, error) {
	header := r.Header.Get("Content-Type")
	if header == "" {
		return codec.JSON, nil
	}
	mediaType, _, err := mime.ParseMediaType(header)
	if err == nil {
		if media, ok := codec.ParseMedia(mediaType); ok {
			return media, nil
		}
	}
	return codec.JSON, unsupportedMediaType(codec.Supported()...)
}

// statusOf is the Status that tells a client of err.
func statusOf(err error) metav1.Status {
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

// writeError answers with the Status of err, in the format that the client accepts.
func writeError(w http.ResponseWriter, r *http.Request, err error) {
	status := statusOf(err)
	if seconds := retryAfter(&status); seconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(seconds))
	}
	target, ok := codec.Negotiate(r.Header.Get("Accept"), codec.AllowTransforms)
	data, encodeErr := codec.Encode(target.Media, statusKind, &status)
	if encodeErr != nil {
		http.Error(w, encodeErr.Error(), http.StatusInternalServerError)
		return
	}
	if data = prettyFor(r, target.Media, data); !ok {
		data = indent(data) // as upstream, for somebody who accepts nothing that there is
	}
	writeBytes(w, r, int(status.Code), target.Media.ContentType(), data)
}

func retryAfter(status *metav1.Status) int {
	if status.Details != nil && status.Details.RetryAfterSeconds > 0 {
		return int(status.Details.RetryAfterSeconds)
	}
	return 0
}

// The Warning headers of one answer have room for warningRunes of text. Where that is
// not enough, the first of each are sent.
const (
	warningRunes       = 4 << 10
	longWarningRunes   = 256
	kubernetesWarnCode = 299
)

// addWarning adds a Warning header (RFC 7234, 5.5), which kubectl prints, unless it
// is there already, or too much has been said.
func addWarning(w http.ResponseWriter, text string) {
	header, err := utilnet.NewWarningHeader(kubernetesWarnCode, "", text)
	if err != nil || slices.Contains(w.Header()["Warning"], header) {
		return
	}
	said, _ := utilnet.ParseWarningHeaders(w.Header()["Warning"])
	total := 0
	for _, warning := range said {
		total += utf8.RuneCountInString(warning.Text)
	}
	if total+utf8.RuneCountInString(text) <= warningRunes {
		w.Header().Add("Warning", header)
		return
	}
	w.Header().Del("Warning")
	total = 0
	for _, warning := range append(said, utilnet.WarningHeader{Text: text}) {
		short := []rune(warning.Text)
		short = short[:min(len(short), longWarningRunes)]
		if header, err = utilnet.NewWarningHeader(kubernetesWarnCode, "", string(short)); err == nil && total < warningRunes {
			total += len(short)
			w.Header().Add("Warning", header)
		}
	}
}

func indent(data []byte) []byte {
	var document json.RawMessage = data
	out, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		return data
	}
	return append(out, '\n')
}
