package history

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/controllers/owned"
	"minikcm.dev/minikcm/controllers/plan"
)

// Taken returns the revision that could not be created because there is one of
// its name, or nil if the error is another one.
func Taken(actErr error) *appsv1.ControllerRevision {
	var failed *plan.ActionError
	if !apierrors.IsAlreadyExists(actErr) || !errors.As(actErr, &failed) {
		return nil
	}
	revision, _ := failed.Object.(*appsv1.ControllerRevision)
	return revision
}

// Collided looks at who has the name that the owner's wanted revision should have.
// It reports whether that is something else, so that another name is needed. If it
// is the owner's own, the cache has yet to show it. One that holds the same and is
// not the owner's will be adopted or collected: until then it is an error.
func Collided(ctx context.Context, w plan.Writer, owner metav1.Object, wanted *appsv1.ControllerRevision) (bool, error) {
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
	if owned.ControllerUID(live) != owner.GetUID() {
		return false, fmt.Errorf("ControllerRevision %s/%s is not yet, or no longer, that of %s", live.Namespace, live.Name, owner.GetName())
	}
	return false, nil
}

// More returns a collision count that is one higher.
func More(collisions *int32) *int32 {
	count := int32(1)
	if collisions != nil {
		count += *collisions
	}
	return &count
}
