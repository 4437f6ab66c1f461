package plan

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// mayAdopt asks the API, once a plan, whether the owner still is the object that
// the cache shows and is not being deleted. Without that a deleted owner could
// adopt what the garbage collector has just orphaned.
func (r *run) mayAdopt(ctx context.Context) error {
	if r.canAdopt == nil {
		err := r.ownerLives(ctx)
		r.canAdopt = func() error { return err }
	}
	return r.canAdopt()
}

func (r *run) ownerLives(ctx context.Context) error {
	live, err := r.Writer.Get(ctx, r.owner)
	if err != nil {
		return fmt.Errorf("reading %s %s/%s before it adopts: %w", r.Kind.Kind, r.owner.GetNamespace(), r.owner.GetName(), stale(err))
	}
	if live.GetUID() != r.owner.GetUID() {
		return &StaleError{fmt.Errorf("%s %s/%s is another object now: uid %s, was %s",
			r.Kind.Kind, live.GetNamespace(), live.GetName(), live.GetUID(), r.owner.GetUID())}
	}
	if live.GetDeletionTimestamp() != nil {
		return &StaleError{fmt.Errorf("%s %s/%s has been deleted meanwhile", r.Kind.Kind, live.GetNamespace(), live.GetName())}
	}
	return nil
}

// ownerPatch is a strategic merge patch of the owner references, whose merge key
// is the UID. The UID of the object in it is its precondition.
type ownerPatch struct {
	Metadata struct {
		UID             types.UID `json:"uid"`
		OwnerReferences []any     `json:"ownerReferences"`
	} `json:"metadata"`
}

func (p ownerPatch) encode(o Object, reference any) ([]byte, error) {
	p.Metadata.UID = o.GetUID()
	p.Metadata.OwnerReferences = []any{reference}
	data, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("encoding the owner references: %w", err)
	}
	return data, nil
}

func adoption(controller *metav1.OwnerReference, o Object) ([]byte, error) {
	return ownerPatch{}.encode(o, controller)
}

func (r *run) release(ctx context.Context, o Object) error {
	patch, err := ownerPatch{}.encode(o, map[string]any{"$patch": "delete", "uid": r.owner.GetUID()})
	if err != nil {
		return err
	}
	_, err = r.Writer.Patch(ctx, o, patch)
	// Invalid: the reference was the last thing that kept the object, or its UID
	// has changed. In either case there is nothing left to release.
	if apierrors.IsNotFound(err) || apierrors.IsInvalid(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}
