package openrequests

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ErrTooLarge is the error of ReadBody for a body beyond its limit.
var ErrTooLarge = errors.New("the body is too large")

// ReadBody reads the body of a request, of at most limit bytes. The client has to send it by
// deadline, a time of the machine's clock; a client in the process has all the time.
func ReadBody(w http.ResponseWriter, r *http.Request, limit int64, deadline time.Time) ([]byte, error) {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(deadline) // fails for a client in the process
	data, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	_ = control.SetReadDeadline(time.Time{})
	if err == nil && int64(len(data)) > limit {
		return nil, ErrTooLarge
	}
	return data, err
}

// Answer responds with a body in JSON.
func Answer(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body) // fails only if the client is gone
}

// NotAllowed returns the error for a request whose path is served for other methods, as in
// "GET, POST", and sets the header that says so.
func NotAllowed(w http.ResponseWriter, r *http.Request, resource schema.GroupResource, allowed string) error {
	w.Header().Set("Allow", allowed)
	return apierrors.NewMethodNotSupported(resource, strings.ToLower(r.Method))
}
