package apiserver

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver/auth"
	"minikcm.dev/minikcm/apiserver/codec"
	"minikcm.dev/minikcm/apiserver/resources"
	"minikcm.dev/minikcm/apiserver/response"
	"minikcm.dev/minikcm/apiserver/slowclient"
	"minikcm.dev/minikcm/apiserver/storage"
	"minikcm.dev/minikcm/clock/inflight"
)

// maxBodyBytes limits a request body, as upstream.
const maxBodyBytes = 3 * 1024 * 1024

// request is one API request while it is being served.
type request struct {
	RequestInfo
	server  *Server
	w       http.ResponseWriter
	r       *http.Request
	query   url.Values
	user    *auth.User
	row     *resources.Resource
	sub     *resources.Subresource
	objects *storage.Objects
	target  codec.Target
	causes  []int64
	work    *inflight.Work // nil for a long-running request
	// local reports that the client is in this process.
	local bool
}

// kind returns the kind of the request's body and response: the row's or the
// subresource's.
func (rq *request) kind() schema.GroupVersionKind {
	if rq.sub != nil && rq.sub.New != nil {
		return rq.sub.GroupVersionKind
	}
	return rq.row.GroupVersionKind
}

func (rq *request) key() string {
	if rq.row.Namespaced {
		return rq.objects.Key(rq.Namespace, rq.Name)
	}
	return rq.objects.Key("", rq.Name)
}

// prefix returns the key prefix of the objects that a collection request selects from.
func (rq *request) prefix() string {
	if rq.row.Namespaced {
		return rq.objects.Prefix(rq.Namespace)
	}
	return rq.objects.Prefix("")
}

// fromStored converts a stored object to the requested version.
func (rq *request) fromStored(obj runtime.Object) runtime.Object {
	return fromStored(rq.row, obj)
}

func fromStored(row *resources.Resource, obj runtime.Object) runtime.Object {
	if row.Storage == nil || obj == nil {
		return obj
	}
	return row.Storage.From(obj)
}

func (rq *request) toStored(obj runtime.Object) runtime.Object {
	if rq.row.Storage == nil {
		return obj
	}
	return rq.row.Storage.To(obj)
}

// body reads the whole body, up to the limit.
func (rq *request) body() ([]byte, error) {
	if rq.r.Body == nil || rq.r.Body == http.NoBody {
		return nil, nil
	}
	limited, end := slowclient.LimitBody(rq.w, rq.r, http.MaxBytesReader(rq.w, rq.r.Body, maxBodyBytes), requestTimeout)
	data, err := io.ReadAll(limited)
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", maxBodyBytes))
	}
	if errors.Is(err, slowclient.ErrSlowBody) {
		return nil, apierrors.NewTimeoutError(err.Error(), 0)
	}
	if err != nil {
		return nil, apierrors.NewBadRequest("reading the request body: " + err.Error())
	}
	end()
	return data, nil
}

// inputMedia returns the format of the body.
func (rq *request) inputMedia() (codec.Media, error) {
	return inputMedia(rq.r)
}

// decode decodes the body as an object of the given kind.
func (rq *request) decode(data []byte, kind schema.GroupVersionKind, into runtime.Object, validation string) (runtime.Object, error) {
	media, err := rq.inputMedia()
	if err != nil {
		return nil, err
	}
	obj, got, strict, err := rq.read(media, data, kind, into)
	if err != nil {
		return nil, decodeError(err, kind, got, data)
	}
	if strict != nil && validation == metav1.FieldValidationStrict {
		return nil, decodeError(strict, kind, got, data)
	}
	if rq.sub != nil && got.Kind == kind.Kind && slices.Contains(rq.sub.AlsoVersions, got.GroupVersion()) {
		return ofVersion(obj, rq.sub.New())
	}
	if got.Kind != kind.Kind && rq.server.scheme.Recognizes(got) {
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
		rq.warnOf(strict)
	}
	return obj, nil
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
	clearTypeMeta(into)
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

// warnOf sends the errors of strict decoding (unknown and duplicate fields) as
// warnings. Nil sends nothing.
func (rq *request) warnOf(strict error) {
	list, ok := runtime.AsStrictDecodingError(strict)
	if !ok {
		return
	}
	for _, e := range list.Errors() {
		response.Warn(rq.w, e.Error())
	}
}

// checkNamespace checks that the namespace of an object to create is the URL's, and
// sets it if the body omits it.
func (rq *request) checkNamespace(obj runtime.Object) error {
	m, err := meta.Accessor(obj)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	namespace := rq.Namespace
	if !rq.row.Namespaced {
		namespace = ""
	}
	if namespace != "" && m.GetNamespace() != "" && m.GetNamespace() != namespace {
		return apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	m.SetNamespace(namespace)
	return nil
}

// checkIdentity checks that a replacement object has the name and namespace of the URL.
func (rq *request) checkIdentity(obj runtime.Object) error {
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
	return rq.checkNamespace(obj)
}

// checkParent checks that the body of a subresource create does not name another object
// than the URL.
func (rq *request) checkParent(obj runtime.Object) error {
	m, err := meta.Accessor(obj)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	switch m.GetName() {
	case rq.Name:
	case "":
		if !rq.sub.NamesParent {
			m.SetName(rq.Name)
			break
		}
		fallthrough
	default:
		return apierrors.NewBadRequest(fmt.Sprintf("name in URL does not match name in %s object", rq.kind().Kind))
	}
	return rq.checkNamespace(obj)
}

// groupResource returns the resource for errors.
func (rq *request) groupResource() schema.GroupResource { return rq.row.GroupResource() }

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
