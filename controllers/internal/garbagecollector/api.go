package garbagecollector

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/controllers/internal/garbagecollector/graph"
)

// noWait retries changes of one object's metadata immediately after a conflict.
var noWait = wait.Backoff{Steps: 5}

// api reads and changes objects of any kind by their coordinates.
type api struct {
	metadata metadata.Interface
	mapper   atomic.Pointer[meta.RESTMapper]
}

func (a *api) at(c graph.Coordinates) (metadata.ResourceInterface, error) {
	mapper := a.mapper.Load()
	if mapper == nil {
		return nil, fmt.Errorf("finding the resource of %s: discovery has not succeeded yet", c)
	}
	gvr, namespace, err := place(*mapper, c)
	if err != nil {
		return nil, err
	}
	if namespace == "" {
		return a.metadata.Resource(gvr), nil
	}
	return a.metadata.Resource(gvr).Namespace(namespace), nil
}

// clusterScoped reports whether the coordinates have a namespace although their kind is
// cluster-scoped.
func (a *api) clusterScoped(c graph.Coordinates) bool {
	mapper := a.mapper.Load()
	if mapper == nil || c.Namespace == "" {
		return false
	}
	_, namespace, err := place(*mapper, c)
	return err == nil && namespace == ""
}

// get returns the object, or nil if there is none with that name and UID.
func (a *api) get(ctx context.Context, c graph.Coordinates) (*metav1.PartialObjectMetadata, error) {
	objects, err := a.at(c)
	if err != nil {
		return nil, err
	}
	object, err := objects.Get(ctx, c.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("getting %s: %w", c, err)
	case object.UID != c.UID:
		return nil, nil
	}
	return object, nil
}

// deleteVersion deletes the object if it still has the given resourceVersion; else it fails
// with a conflict.
func (a *api) deleteVersion(ctx context.Context, c graph.Coordinates, resourceVersion string, policy metav1.DeletionPropagation) error {
	objects, err := a.at(c)
	if err != nil {
		return err
	}
	return objects.Delete(ctx, c.Name, metav1.DeleteOptions{
		Preconditions:     &metav1.Preconditions{UID: &c.UID, ResourceVersion: &resourceVersion},
		PropagationPolicy: &policy,
	})
}

// metadataPatch is a merge patch of only the fields that are set, with the UID and the
// resourceVersion as preconditions.
type metadataPatch struct {
	UID             types.UID                `json:"uid"`
	ResourceVersion string                   `json:"resourceVersion"`
	OwnerReferences *[]metav1.OwnerReference `json:"ownerReferences,omitempty"`
	Finalizers      *[]string                `json:"finalizers,omitempty"`
}

// change patches an object's metadata with the patch that f returns for the latest version;
// nil changes nothing. It is not an error if the object is gone.
func (a *api) change(ctx context.Context, c graph.Coordinates, f func(*metav1.PartialObjectMetadata) *metadataPatch) error {
	err := retry.RetryOnConflict(noWait, func() error {
		object, err := a.get(ctx, c)
		if err != nil || object == nil {
			return err
		}
		patch := f(object)
		if patch == nil {
			return nil
		}
		patch.UID, patch.ResourceVersion = object.UID, object.ResourceVersion
		data, err := json.Marshal(map[string]any{"metadata": patch})
		if err != nil {
			return err
		}
		objects, err := a.at(c)
		if err != nil {
			return err
		}
		_, err = objects.Patch(ctx, c.Name, types.MergePatchType, data, metav1.PatchOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("patching the metadata of %s: %w", c, err)
	}
	return nil
}

// dropOwners removes the references to the owners from the object.
func (a *api) dropOwners(ctx context.Context, c graph.Coordinates, owners ...types.UID) error {
	return a.change(ctx, c, func(object *metav1.PartialObjectMetadata) *metadataPatch {
		kept := slices.DeleteFunc(slices.Clone(object.OwnerReferences), func(ref metav1.OwnerReference) bool {
			return slices.Contains(owners, ref.UID)
		})
		if len(kept) == len(object.OwnerReferences) {
			return nil
		}
		return &metadataPatch{OwnerReferences: &kept}
	})
}

// unblock clears blockOwnerDeletion in all references of the object.
func (a *api) unblock(ctx context.Context, c graph.Coordinates) error {
	return a.change(ctx, c, func(object *metav1.PartialObjectMetadata) *metadataPatch {
		refs := slices.Clone(object.OwnerReferences)
		changed := false
		for i := range refs {
			if ptr.Deref(refs[i].BlockOwnerDeletion, false) {
				refs[i].BlockOwnerDeletion = new(bool)
				changed = true
			}
		}
		if !changed {
			return nil
		}
		return &metadataPatch{OwnerReferences: &refs}
	})
}

// removeFinalizer removes one finalizer from the object.
func (a *api) removeFinalizer(ctx context.Context, c graph.Coordinates, finalizer string) error {
	return a.change(ctx, c, func(object *metav1.PartialObjectMetadata) *metadataPatch {
		kept := slices.DeleteFunc(slices.Clone(object.Finalizers), func(f string) bool { return f == finalizer })
		if len(kept) == len(object.Finalizers) {
			return nil
		}
		return &metadataPatch{Finalizers: &kept}
	})
}
