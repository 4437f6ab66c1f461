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

// gzipAbove is the size above which upstream compresses responses.
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

// acceptsGzip reads Accept-Encoding as upstream does: gzip with parameters does not
// match.
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
	// A write fails only if the client has disconnected.
	_, _ = compressor.Write(data)
	_ = compressor.Close()
}

// writeObject sends an object without transformation.
func (rq *request) writeObject(code int, gvk schema.GroupVersionKind, obj runtime.Object) error {
	data, err := codec.Encode(rq.target.Media, gvk, obj)
	if err != nil {
		return encodeError(err)
	}
	writeBytes(rq.w, rq.r, code, rq.target.Media.ContentType(), rq.pretty(data))
	return nil
}

// pretty indents JSON if the client requests it, or if the client is a command line
// tool or a browser.
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

// readersAgents returns the User-Agent prefixes of command line tools and browsers, as
// upstream.
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

// newStatus returns a Status error that has no constructor in apierrors.
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

// inputMedia returns the format in Content-Type; JSON if there is none.
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

// statusOf returns the Status for err.
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

// writeError responds with the Status of err, in a format that the client accepts.
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
		data = indent(data) // as upstream, if the client accepts no supported format
	}
	writeBytes(w, r, int(status.Code), target.Media.ContentType(), data)
}

func retryAfter(status *metav1.Status) int {
	if status.Details != nil && status.Details.RetryAfterSeconds > 0 {
		return int(status.Details.RetryAfterSeconds)
	}
	return 0
}

// The Warning headers of one response may have warningRunes runes in total. If the
// warnings are longer, the beginning of each is sent.
const (
	warningRunes       = 4 << 10
	longWarningRunes   = 256
	kubernetesWarnCode = 299
)

// addWarning adds a Warning header (RFC 7234, 5.5), which kubectl prints, unless the
// response has it already or the headers have reached their limit.
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
