package fieldmanager

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"minikcm.dev/minikcm/apiserver/internal/resources"
)

// Scale converts the ownership of the number of replicas between an object and
// its scale subresource, where it is another field of another kind.
type Scale struct{ handler *managedfields.ScaleHandler }

// NewScale starts from the managed fields of the parent in the row's version.
func NewScale(row *resources.Resource, sub *resources.Subresource, parent runtime.Object) Scale {
	gv := row.GroupVersion()
	return Scale{managedfields.NewScaleHandler(Entries(parent), gv, managedfields.ResourcePathMappings{
		gv.String(): replicasPath(sub),
	})}
}

func replicasPath(sub *resources.Subresource) fieldpath.Path {
	path := make(fieldpath.Path, len(sub.Replicas))
	for i := range sub.Replicas {
		path[i] = fieldpath.PathElement{FieldName: &sub.Replicas[i]}
	}
	return path
}

// Show sets the managed fields of a scale, which must be a private copy.
func (s Scale) Show(scale runtime.Object) error {
	return s.carry(scale, s.handler.ToSubresource)
}

// Keep sets the managed fields of the parent, which must be a private copy, after scale
// has been applied.
func (s Scale) Keep(parent, scale runtime.Object) error {
	return s.carry(parent, func() ([]metav1.ManagedFieldsEntry, error) { return s.handler.ToParent(Entries(scale)) })
}

func (s Scale) carry(obj runtime.Object, entries func() ([]metav1.ManagedFieldsEntry, error)) error {
	m, err := meta.Accessor(obj)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	list, err := entries()
	if err != nil {
		return apierrors.NewInternalError(fmt.Errorf("carrying managed fields to or from a scale: %w", err))
	}
	m.SetManagedFields(list)
	return nil
}
