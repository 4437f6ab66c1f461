package storage

import (
	"context"
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver/internal/watchcache"
	"minikcm.dev/minikcm/store"
)

// Translate converts a store's error to the API error for the client.
func Translate(err error, resource schema.GroupResource, name string) error {
	if err == nil {
		return nil // without allocating
	}
	var (
		conflict    *store.ConflictError
		compacted   *store.CompactedError
		unavailable *store.UnavailableError
		guard       *store.GuardError
		status      apierrors.APIStatus
		sealed      *sealedError
	)
	switch {
	case errors.As(err, &status):
		return err
	case errors.As(err, &sealed):
		return apierrors.NewInternalError(sealed)
	case errors.Is(err, store.ErrNotFound):
		return apierrors.NewNotFound(resource, name)
	case errors.As(err, &conflict):
		return apierrors.NewConflict(resource, name, errModified)
	case errors.As(err, &compacted):
		return apierrors.NewResourceExpired("The provided resource version is no longer available: " + err.Error())
	case errors.Is(err, watchcache.ErrClosed), errors.Is(err, store.ErrClosed):
		return apierrors.NewServiceUnavailable(err.Error())
	case errors.As(err, &guard):
		return fencedOff(guard)
	case errors.As(err, &unavailable):
		return storeFailed(unavailable)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return apierrors.NewTimeoutError("request did not complete within the allotted timeout", 0)
	}
	return apierrors.NewInternalError(err)
}

// errRevisionOnCreate returns the error for a create with a resourceVersion: as from
// upstream's store, code 500 without a reason.
func errRevisionOnCreate() error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: "resourceVersion should not be set on objects to be created",
	}}
}

// fencedOff returns the error for a write of a role that another process has taken over. It is
// no Conflict, which clients answer by reading the object and writing again, and has no
// Retry-After, which makes client-go repeat the request: the writer has to end instead.
func fencedOff(err *store.GuardError) error {
	return apierrors.NewServiceUnavailable("nothing was written: the Lease that the request names in its header Minikcm-Fence has changed, " +
		"so another process has taken over what it stands for: " + err.Error())
}

// storeFailed returns etcd's message, such as "etcdserver: request timed out" or
// "etcdserver: mvcc: database space exceeded", as upstream: with code 500 and no reason.
func storeFailed(err *store.UnavailableError) error {
	return &failedError{StatusError: &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: err.Err.Error(),
	}}, cause: err}
}

// failedError is a Status that keeps the store's error.
type failedError struct {
	*apierrors.StatusError
	cause *store.UnavailableError
}

// Unwrap implements the errors package's method.
func (e *failedError) Unwrap() []error { return []error{e.StatusError, e.cause} }
