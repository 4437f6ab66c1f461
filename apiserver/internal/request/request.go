package request

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver/internal/audit"
	"minikcm.dev/minikcm/apiserver/internal/codec"
	"minikcm.dev/minikcm/apiserver/internal/encodings"
	"minikcm.dev/minikcm/apiserver/internal/pressure"
	"minikcm.dev/minikcm/apiserver/internal/resources"
	"minikcm.dev/minikcm/apiserver/internal/response"
	"minikcm.dev/minikcm/apiserver/internal/slowclient"
	"minikcm.dev/minikcm/apiserver/internal/storage"
	"minikcm.dev/minikcm/apiserver/internal/strategy"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/auth"
	"minikcm.dev/minikcm/internal/inflight"
)

// MaxBodyBytes limits a request body, as upstream.
const MaxBodyBytes = 3 * 1024 * 1024

// MaxDuration limits a request that is not a watch, as upstream's default of
// --request-timeout.
const MaxDuration = time.Minute

// Env holds the parts of the server with which requests are parsed and answered. All requests of
// a server share one.
type Env struct {
	Decoder *codec.Decoder
	Scheme  *runtime.Scheme
	Clock   clock.Clock
	// Lists keeps the encodings of lists; nil: they are encoded each time.
	Lists *encodings.Kept
}

// Request is one request for a resource while it is being served.
type Request struct {
	Info
	Env    *Env
	Writer http.ResponseWriter
	HTTP   *http.Request
	// Query has the parameters of the URL.
	Query url.Values
	User  *auth.User
	Row   *resources.Resource
	// Sub is nil for the main resource.
	Sub *resources.Subresource
	// Objects is nil for a row without stored objects.
	Objects *storage.Objects
	// Target is the format of the response, set by Negotiate.
	Target codec.Target
	// Causes are the revisions that the client acts on.
	Causes []int64
	// Work counts the request in flight; nil for a long-running request.
	Work *inflight.Work
	// Local reports that the client is in this process.
	Local bool
	// Audit is the audit record; nil for a request that is not audited.
	Audit *audit.Record
	// Reserved is the response's share of the process's memory budget; nil: the response is not counted.
	Reserved *pressure.Share
}

// Connects reports whether the request connects the client to a pod.
func (rq *Request) Connects() bool { return rq.Sub != nil && rq.Sub.Streams }

// LongRunning reports whether the request may last indefinitely. It is not counted as
// in flight, because virtual time would stand still meanwhile.
func (rq *Request) LongRunning() bool {
	return rq.Verb == VerbWatch || rq.Connects() || rq.Sub != nil && rq.Sub.Follows != nil && rq.Sub.Follows(rq.Query)
}

// Kind returns the kind of the request's body and response: the row's or the
// subresource's.
func (rq *Request) Kind() schema.GroupVersionKind {
	if rq.Sub != nil && rq.Sub.New != nil {
		return rq.Sub.GroupVersionKind
	}
	return rq.Row.GroupVersionKind
}

// Key returns the key of the object that the request names.
func (rq *Request) Key() string {
	if rq.Row.Namespaced {
		return rq.Objects.Key(rq.Namespace, rq.Name)
	}
	return rq.Objects.Key("", rq.Name)
}

// Prefix returns the key prefix of the objects that a collection request selects from.
func (rq *Request) Prefix() string {
	if rq.Row.Namespaced {
		return rq.Objects.Prefix(rq.Namespace)
	}
	return rq.Objects.Prefix("")
}

// FromStored converts a stored object to the requested version.
func (rq *Request) FromStored(obj runtime.Object) runtime.Object {
	return FromStored(rq.Row, obj)
}

// FromStored converts a stored object to the version of row.
func FromStored(row *resources.Resource, obj runtime.Object) runtime.Object {
	if row.Storage == nil || obj == nil {
		return obj
	}
	return row.Storage.From(obj)
}

// ToStored converts an object of the requested version to the stored one.
func (rq *Request) ToStored(obj runtime.Object) runtime.Object {
	if rq.Row.Storage == nil {
		return obj
	}
	return rq.Row.Storage.To(obj)
}

// Body reads the whole body, up to MaxBodyBytes, and refuses one that is nested too deep.
func (rq *Request) Body() ([]byte, error) {
	if rq.HTTP.Body == nil || rq.HTTP.Body == http.NoBody {
		return nil, nil
	}
	limited, end := slowclient.LimitBody(rq.Writer, rq.HTTP, http.MaxBytesReader(rq.Writer, rq.HTTP.Body, MaxBodyBytes), MaxDuration)
	data, err := readAll(limited, rq.HTTP.ContentLength)
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", MaxBodyBytes))
	}
	if errors.Is(err, slowclient.ErrSlowBody) {
		return nil, apierrors.NewTimeoutError(err.Error(), 0)
	}
	if err != nil {
		return nil, apierrors.NewBadRequest("reading the request body: " + err.Error())
	}
	end()
	return data, checkNesting(rq.HTTP.Header.Get("Content-Type"), data)
}

// maxPromised is how many bytes are allocated for a body before they have come.
const maxPromised = 64 << 10

// readAll reads r to its end. promised is the length that the client has announced, or negative.
func readAll(r io.Reader, promised int64) ([]byte, error) {
	if promised < 0 || promised > maxPromised {
		return io.ReadAll(r)
	}
	// The byte more lets the last Read report the end without growing the buffer.
	data := make([]byte, 0, promised+1)
	for {
		n, err := r.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return data, err
		}
		if len(data) == cap(data) {
			data = slices.Grow(data, 1)
		}
	}
}

// inputMedia returns the format of the body.
func (rq *Request) inputMedia() (codec.Media, error) {
	return inputMedia(rq.HTTP)
}

// Decode decodes the body as an object of the given kind.
func (rq *Request) Decode(data []byte, kind schema.GroupVersionKind, into runtime.Object, validation string) (runtime.Object, error) {
	obj, got, strict, err := rq.readBody(data, kind, into)
	if err != nil {
		return nil, err
	}
	if strict != nil && validation == metav1.FieldValidationStrict {
		return nil, decodeError(strict, kind, got, data)
	}
	if rq.isOtherVersion(got, kind) {
		rq.auditBody(got, obj)
		return ofVersion(obj, rq.Sub.New())
	}
	if got.Kind != kind.Kind && rq.Env.Scheme.Recognizes(got) {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: converting (%s.%s) to (%s): unknown conversion",
			got.Kind, got.Version, kind.Kind, got.Version, got.Kind, internalName(kind)))
	}
	if got.GroupVersion() != kind.GroupVersion() {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the API version in the data (%s) does not match the expected API version (%s)", got.GroupVersion(), kind.GroupVersion()))
	}
	if got.Kind != kind.Kind {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s", got.Kind, got.Version, kind.Kind))
	}
	if validation != metav1.FieldValidationIgnore {
		rq.WarnStrict(strict)
	}
	rq.auditBody(kind, obj)
	return obj, nil
}

// DecodeAgain decodes a body that Decode has accepted, without the warnings and the audit.
func (rq *Request) DecodeAgain(data []byte, kind schema.GroupVersionKind, into runtime.Object) (runtime.Object, error) {
	obj, got, _, err := rq.readBody(data, kind, into)
	if err != nil {
		return nil, err
	}
	if rq.isOtherVersion(got, kind) {
		return ofVersion(obj, rq.Sub.New())
	}
	return obj, nil
}

// readBody is Read for the body, with the errors that the client gets.
func (rq *Request) readBody(data []byte, kind schema.GroupVersionKind, into runtime.Object) (obj runtime.Object, got schema.GroupVersionKind, strict, err error) {
	media, err := rq.inputMedia()
	if err != nil {
		return nil, got, nil, err
	}
	if obj, got, strict, err = rq.Read(media, data, kind, into); err != nil {
		return nil, got, nil, decodeError(err, kind, got, data)
	}
	return obj, got, strict, nil
}

// isOtherVersion reports whether a body of kind got is converted to the subresource's kind.
func (rq *Request) isOtherVersion(got, kind schema.GroupVersionKind) bool {
	return rq.Sub != nil && got.Kind == kind.Kind && slices.Contains(rq.Sub.AlsoVersions, got.GroupVersion())
}

// auditBody records the decoded body with its defaults, as upstream, where decoding sets
// them.
func (rq *Request) auditBody(kind schema.GroupVersionKind, obj runtime.Object) {
	if rq.Audit == nil {
		return
	}
	if rq.Audit.WantsRequest() && rq.Sub == nil {
		obj = obj.DeepCopyObject()
		strategy.Default(rq.Row, obj)
	}
	rq.Audit.Request(rq.HTTP.Context(), kind, obj, rq.GVR, rq.Subresource)
}

// ofVersion converts an object to another version that has the same fields.
func ofVersion(obj, into runtime.Object) (runtime.Object, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err == nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(content, into)
	}
	if err != nil {
		return nil, apierrors.NewInternalError(fmt.Errorf("converting to %T: %w", into, err))
	}
	strategy.ClearTypeMeta(into)
	return into, nil
}

// decodeError returns the error for a body that does not decode as the wanted kind. If
// the body has no kind, the error shows its beginning.
func decodeError(err error, want, got schema.GroupVersionKind, data []byte) error {
	if got.Kind == "" {
		return apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): %v (%s)", want.Kind, err, summary(data)))
	}
	return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", got.Kind, got.Version, want.Kind, err))
}

// summaryBytes is the length of a body's beginning that an error shows.
const summaryBytes = 30

// summary returns the beginning of a body: as text if it looks like JSON, otherwise in
// hexadecimal.
func summary(data []byte) string {
	if len(data) == 0 {
		return "<empty>"
	}
	show, more := hex.EncodeToString, ""
	if data[0] == '{' {
		show = func(data []byte) string { return string(data) }
	}
	if len(data) > summaryBytes {
		data, more = data[:summaryBytes], " ..."
	}
	return show(data) + more
}

// WarnStrict sends the errors of strict decoding (unknown and duplicate fields) as
// warnings. Nil sends nothing.
func (rq *Request) WarnStrict(strict error) {
	list, ok := runtime.AsStrictDecodingError(strict)
	if !ok {
		return
	}
	for _, e := range list.Errors() {
		response.Warn(rq.Writer, e.Error())
	}
}

// CheckNamespace checks that the namespace of an object to create is the URL's, and
// sets it if the body omits it.
func (rq *Request) CheckNamespace(obj runtime.Object) error {
	m, err := meta.Accessor(obj)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	namespace := rq.Namespace
	if !rq.Row.Namespaced {
		namespace = ""
	}
	if namespace != "" && m.GetNamespace() != "" && m.GetNamespace() != namespace {
		return apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	m.SetNamespace(namespace)
	return nil
}

// CheckIdentity checks that a replacement object has the name and namespace of the URL.
func (rq *Request) CheckIdentity(obj runtime.Object) error {
	m, err := meta.Accessor(obj)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	switch m.GetName() {
	case rq.Name:
	case "":
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s based on URL) was undeterminable: name must be provided", rq.Name))
	default:
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", m.GetName(), rq.Name))
	}
	return rq.CheckNamespace(obj)
}

// CheckParent checks that the body of a subresource create does not name another object
// than the URL.
func (rq *Request) CheckParent(obj runtime.Object) error {
	m, err := meta.Accessor(obj)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	switch m.GetName() {
	case rq.Name:
	case "":
		if !rq.Sub.NamesParent {
			m.SetName(rq.Name)
			break
		}
		fallthrough
	default:
		return apierrors.NewBadRequest(fmt.Sprintf("name in URL does not match name in %s object", rq.Kind().Kind))
	}
	return rq.CheckNamespace(obj)
}

// GroupResource returns the resource for errors.
func (rq *Request) GroupResource() schema.GroupResource { return rq.Row.GroupResource() }

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
	return codec.JSON, response.UnsupportedMediaType(codec.Supported()...)
}

// NewBody returns an empty object of the request's kind.
func (rq *Request) NewBody() runtime.Object {
	if rq.Sub != nil && rq.Sub.New != nil {
		return rq.Sub.New()
	}
	return rq.Row.New()
}
