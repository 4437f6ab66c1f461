package response

import (
	"errors"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/apiserver/internal/codec"
)

// EncodeError returns the error for an object that could not be encoded: 406 if its kind
// has no protobuf encoding, err if it is one of the API, otherwise an internal error.
func EncodeError(err error) error {
	var notProtobuf *codec.NotProtobufError
	if errors.As(err, &notProtobuf) {
		return NotAcceptable()
	}
	var known apierrors.APIStatus
	if errors.As(err, &known) {
		return err
	}
	return apierrors.NewInternalError(err)
}

// NewStatus returns a Status error that has no constructor in apierrors.
func NewStatus(code int, reason metav1.StatusReason, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message,
	}}
}

// NotAcceptable returns the error for a request that accepts no format of the server.
func NotAcceptable() error { return NotAcceptableExcept(codec.Supported()) }

// NotAcceptableExcept returns the error for a request that accepts none of the media
// types that the server can respond with.
func NotAcceptableExcept(types []string) error {
	return NewStatus(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable,
		"only the following media types are accepted: "+strings.Join(types, ", "))
}

// UnsupportedMediaType returns the error for a body in another format than the accepted
// ones.
func UnsupportedMediaType(accepted ...string) error {
	return NewStatus(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType,
		"the body of the request was in an unknown format - accepted media types include: "+strings.Join(accepted, ", "))
}

// MethodNotAllowed returns the error for a method without a route within the served
// groups.
func MethodNotAllowed() error {
	return apierrors.NewGenericServerResponse(http.StatusMethodNotAllowed, "", schema.GroupResource{}, "", "", 0, false)
}

// GetOnly rejects every method except GET, including HEAD.
func GetOnly(serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			Error(w, r, MethodNotAllowed())
			return
		}
		serve(w, r)
	}
}

// NoRoute answers a request for a path outside the served groups, as upstream in plain text.
func NoRoute(w http.ResponseWriter) { http.Error(w, "404 page not found", http.StatusNotFound) }

// NotFound returns the error for a path without a route within the served groups.
func NotFound() error {
	return apierrors.NewGenericServerResponse(http.StatusNotFound, "", schema.GroupResource{}, "", "", 0, false)
}
