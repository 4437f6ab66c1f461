package executor

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/controllers/internal/plan"
)

// mayAdopt checks with a live read, once per plan, that the owner is still the object in
// the cache and is not being deleted. Otherwise a deleted owner could adopt objects that
// the garbage collector has just orphaned.
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
		return &plan.StaleError{Err: fmt.Errorf("%s %s/%s is another object now: uid %s, was %s",
			r.Kind.Kind, live.GetNamespace(), live.GetName(), live.GetUID(), r.owner.GetUID())}
	}
	if live.GetDeletionTimestamp() != nil {
		return &plan.StaleError{Err: fmt.Errorf("%s %s/%s has been deleted meanwhile", r.Kind.Kind, live.GetNamespace(), live.GetName())}
	}
	return nil
}

// metadataPatch is a strategic merge patch of the labels, of the owner references, whose merge key is the
// UID, and of the finalizers, which are a set. The UID in it is a precondition.
type metadataPatch struct {
	Metadata struct {
		UID              types.UID         `json:"uid"`
		ResourceVersion  string            `json:"resourceVersion,omitempty"`
		Labels           map[string]string `json:"labels,omitempty"`
		OwnerReferences  []any             `json:"ownerReferences,omitempty"`
		Finalizers       []string          `json:"finalizers,omitempty"`
		DeleteFinalizers []string          `json:"$deleteFromPrimitiveList/finalizers,omitempty"`
	} `json:"metadata"`
}

func (p metadataPatch) encode(o plan.Object) ([]byte, error) {
	p.Metadata.UID = o.GetUID()
	data, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("encoding the patch of the metadata: %w", err)
	}
	return data, nil
}

func (r *run) relabel(ctx context.Context, o plan.Object) (plan.Object, error) {
	var p metadataPatch
	p.Metadata.Labels = o.GetLabels()
	patch, err := p.encode(o)
	if err != nil {
		return nil, err
	}
	return r.Writer.Patch(ctx, o, patch)
}

func (r *run) adopt(ctx context.Context, o plan.Object, finalizers []string) (plan.Object, error) {
	var p metadataPatch
	p.Metadata.OwnerReferences = []any{metav1.NewControllerRef(r.owner, r.Kind)}
	p.Metadata.Finalizers = finalizers
	patch, err := p.encode(o)
	if err != nil {
		return nil, err
	}
	return r.Writer.Patch(ctx, o, patch)
}

func (r *run) release(ctx context.Context, o plan.Object, finalizers []string) error {
	var p metadataPatch
	p.Metadata.OwnerReferences = []any{map[string]any{"$patch": "delete", "uid": r.owner.GetUID()}}
	p.Metadata.DeleteFinalizers = finalizers
	patch, err := p.encode(o)
	if err != nil {
		return err
	}
	_, err = r.Writer.Patch(ctx, o, patch)
	// Invalid means that the reference was all that kept the object from being deleted, or
	// that its UID has changed. In both cases nothing is left to release.
	return unlessGone(err)
}

// unpin removes finalizers. An object that is gone needs no removal.
func (r *run) unpin(ctx context.Context, o plan.Object, action plan.Action) (plan.Object, error) {
	var p metadataPatch
	p.Metadata.DeleteFinalizers = action.Finalizers
	if action.Unchanged {
		p.Metadata.ResourceVersion = o.GetResourceVersion()
	}
	patch, err := p.encode(o)
	if err != nil {
		return nil, err
	}
	written, err := r.Writer.Patch(ctx, o, patch)
	switch {
	case err == nil:
		return written, nil
	case action.Unchanged && apierrors.IsConflict(err):
		return nil, err
	default:
		return nil, unlessGone(err)
	}
}

func unlessGone(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsInvalid(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}
