package watchcache

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	// ErrClosed ends watchers when the cache is closed or has to start anew, and
	// those that are too slow. A client may watch again from where it was.
	ErrClosed = errors.New("the watch has ended")
	// ErrNotCached is the answer to a list at an exact revision that is not the
	// cache's.
	ErrNotCached = errors.New("the revision is not in the watch cache")
)

// errTooSlow ends a watcher whose buffer is full.
var errTooSlow = fmt.Errorf("%w: too many events wait for the watcher", ErrClosed)

// tooLarge is the answer to a revision that the cache has not come to, as upstream
// words it: clients recognize it by its cause.
func tooLarge(asked, current int64) error {
	err := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", asked, current), 1)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type:    metav1.CauseTypeResourceVersionTooLarge,
		Message: "Too large resource version",
	}}
	return err
}

// tooOld is the answer to a watch from a revision that has left the ring.
func tooOld(asked, floor int64) error {
	return apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", asked, floor))
}
