package collision

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/controllers/internal/controllerref"
	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/controllers/internal/plan"
)

// taken returns the revision whose creation failed because its name is in use, or nil if
// the error is a different one.
func taken(actErr error) *appsv1.ControllerRevision {
	var failed *plan.ActionError
	if !apierrors.IsAlreadyExists(actErr) || !errors.As(actErr, &failed) {
		return nil
	}
	revision, _ := failed.Object.(*appsv1.ControllerRevision)
	return revision
}

// holdsOther reads the object that has the name of the owner's wanted revision. It returns
// true if that holds other data, so that another name is needed, and false if it is the
// owner's own revision, which the cache does not show yet. A revision with the same data
// that is not the owner's will be adopted or deleted; until then holdsOther returns an error.
func holdsOther(ctx context.Context, w executor.Writer, owner metav1.Object, wanted *appsv1.ControllerRevision) (bool, error) {
	found, err := w.Get(ctx, wanted)
	if err != nil {
		return false, fmt.Errorf("reading the ControllerRevision that has the name %s/%s: %w", wanted.Namespace, wanted.Name, err)
	}
	live, ok := found.(*appsv1.ControllerRevision)
	if !ok {
		return false, fmt.Errorf("reading ControllerRevision %s/%s: got a %T", wanted.Namespace, wanted.Name, found)
	}
	if !bytes.Equal(live.Data.Raw, wanted.Data.Raw) {
		return true, nil
	}
	if controllerref.ControllerUID(live) != owner.GetUID() {
		return false, fmt.Errorf("ControllerRevision %s/%s is not yet, or no longer, that of %s", live.Namespace, live.Name, owner.GetName())
	}
	return false, nil
}
