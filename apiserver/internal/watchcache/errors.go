package watchcache

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	// ErrClosed ends watches when the cache is closed, when it has to list the store
	// again, and when a watcher is too slow. A client may resume from the last revision
	// that it has seen.
	ErrClosed = errors.New("the watch has ended")
	// ErrNotCached is returned for a list at an exact revision whose state is not in
	// the cache.
	ErrNotCached = errors.New("the revision is not in the watch cache")
)

// errTooSlow ends a watcher whose buffer is full.
var errTooSlow = fmt.Errorf("%w: too many events wait for the watcher", ErrClosed)

// tooLarge is the error for a revision that the cache has not reached. Message and
// cause are upstream's: clients recognize the error by its cause.
func tooLarge(asked, current int64) error {
	err := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", asked, current), 1)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type:    metav1.CauseTypeResourceVersionTooLarge,
		Message: "Too large resource version",
	}}
	return err
}

// tooOld is the error for a watch from a revision whose changes are no longer in the
// ring.
func tooOld(asked, floor int64) error {
	return apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", asked, floor))
}
