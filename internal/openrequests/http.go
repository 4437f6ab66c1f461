package openrequests

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"minikcm.dev/minikcm/clock"
)

// ClientTimeout bounds the time, by the machine's clock, that a client may need to send a body, or
// to read an answer or a line of a stream. A client in the process has all the time.
const ClientTimeout = 30 * time.Second

// ReadBody reads the body of a request for something, such as "a fault", of at most limit bytes. doing
// is what fails with it, as in "reading the fault". The error is the one of the API.
func ReadBody(w http.ResponseWriter, r *http.Request, limit int64, something, doing string) ([]byte, error) {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(clock.Real().Now().Add(ClientTimeout)) // fails for a client in the process
	data, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	_ = control.SetReadDeadline(time.Time{})
	switch {
	case err != nil:
		return nil, apierrors.NewBadRequest(fmt.Sprintf("%s: %v", doing, err))
	case int64(len(data)) > limit:
		return nil, TooLarge(something, limit)
	}
	return data, nil
}

// TooLarge returns the error for something of more bytes than the limit.
func TooLarge(something string, limit int64) error {
	return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("%s may have %d bytes", something, limit))
}

// Unchangeable returns the error for a write of an object whose spec cannot be changed, such as "a fault".
func Unchangeable(kind schema.GroupKind, name, something string) error {
	return apierrors.NewInvalid(kind, name, field.ErrorList{
		field.Forbidden(field.NewPath("spec"), something+" cannot be changed: delete it, and create another one"),
	})
}

// Answer responds with a body in JSON.
func Answer(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	_ = http.NewResponseController(w).SetWriteDeadline(clock.Real().Now().Add(ClientTimeout))
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body) // fails only if the client is gone
}

// WriteLine writes a value as a line of JSON to a stream. It returns an error if the client is gone.
func WriteLine(w http.ResponseWriter, line any) error {
	control := http.NewResponseController(w)
	// A client in the process has no deadlines, nor need it be flushed to. A deadline that
	// passes ends the stream also while nothing is written, so none is left.
	_ = control.SetWriteDeadline(clock.Real().Now().Add(ClientTimeout))
	err := json.NewEncoder(w).Encode(line)
	_ = control.Flush()
	_ = control.SetWriteDeadline(time.Time{})
	return err
}

// Stream writes lines of JSON, which look returns: one now, and one after changes, but at most one in
// each interval of the machine's time. It ends after the last line, with ctx, or when the client is gone.
func (n *News) Stream(ctx context.Context, w http.ResponseWriter, interval time.Duration, look func() (line any, last bool)) {
	w.Header().Set("Content-Type", "application/json;stream=watch")
	pause := clock.Real().NewTimer(interval)
	defer pause.Stop()
	for {
		changed := n.Wait()
		line, last := look()
		if WriteLine(w, line) != nil || last {
			return
		}
		pause.Reset(interval)
		select {
		case <-pause.C():
		case <-ctx.Done():
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// NotAllowed returns the error for a request whose path is served for other methods, as in
// "GET, POST", and sets the header that says so.
func NotAllowed(w http.ResponseWriter, r *http.Request, resource schema.GroupResource, allowed string) error {
	w.Header().Set("Allow", allowed)
	return apierrors.NewMethodNotSupported(resource, strings.ToLower(r.Method))
}
