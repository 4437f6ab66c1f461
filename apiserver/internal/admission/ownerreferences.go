package admission

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/apiserver/internal/resources"
	"minikcm.dev/minikcm/internal/auth"
)

// OwnerReferencesPermissionEnforcement allows a user to change the owners of an object only
// with the permission to delete the object, and to make an owner wait for it
// (blockOwnerDeletion) only with the permission to update the owner's finalizers.
type OwnerReferencesPermissionEnforcement struct {
	Authorizer auth.Authorizer
	// Ask answers whether a user has a permission that makes others unnecessary.
	Ask auth.Authorizer
	// Kind returns the row of a kind, or nil.
	Kind func(schema.GroupVersionKind) *resources.Resource
}

// Check implements Checker.
func (p OwnerReferencesPermissionEnforcement) Check(ctx context.Context, a *Attributes) error {
	if a.Operation != Create && a.Operation != Update || a.Resource.GroupResource() == corev1.Resource("pods") && a.Subresource == "status" {
		return nil
	}
	owners, before := ownersOf(a.Object), ownersOf(a.Old)
	if len(owners) == len(before) && (len(owners) == 0 || apiequality.Semantic.DeepEqual(owners, before)) {
		return nil
	}
	if a.Operation == Update {
		decision, reason, err := p.Authorizer.Authorize(ctx, auth.Attributes{
			User: a.User, Verb: "delete", Resource: true, Group: a.Resource.Group, Version: a.Resource.Version, Plural: a.Resource.Plural,
			Subresource: a.Subresource, Namespace: a.Namespace, Name: a.Name,
		})
		if decision != auth.Allow {
			return denied(a, fmt.Errorf("cannot set an ownerRef on a resource you can't delete: %v, %w", reason, orNil(err)))
		}
	}
	return p.checkBlocking(ctx, a, newlyBlocked(owners, before))
}

// checkBlocking checks the permissions to make owners wait.
func (p OwnerReferencesPermissionEnforcement) checkBlocking(ctx context.Context, a *Attributes, owners []metav1.OwnerReference) error {
	if len(owners) == 0 {
		return nil
	}
	every := auth.Attributes{User: a.User, Verb: "update", Resource: true, Group: "*", Version: "*", Plural: "*", Subresource: "finalizers", Name: "*"}
	if decision, _, _ := p.Ask.Authorize(ctx, every); decision == auth.Allow {
		return nil
	}
	for _, owner := range owners {
		row, err := p.kindOf(owner)
		if err != nil {
			return denied(a, fmt.Errorf("cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion %s Kind %s: %w", owner.APIVersion, owner.Kind, err))
		}
		finalize := auth.Attributes{
			User: a.User, Verb: "update", Resource: true, Group: row.Group, Version: row.Version, Plural: row.Plural, Subresource: "finalizers", Name: owner.Name,
		}
		if row.Namespaced {
			finalize.Namespace = a.Namespace
		}
		if decision, reason, err := p.Authorizer.Authorize(ctx, finalize); decision != auth.Allow {
			return denied(a, fmt.Errorf("cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: %v, %w", reason, orNil(err)))
		}
	}
	return nil
}

func (p OwnerReferencesPermissionEnforcement) kindOf(owner metav1.OwnerReference) (*resources.Resource, error) {
	version, err := schema.ParseGroupVersion(owner.APIVersion)
	if err != nil {
		return nil, err
	}
	if row := p.Kind(version.WithKind(owner.Kind)); row != nil {
		return row, nil
	}
	return nil, &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: version.Group, Kind: owner.Kind}, SearchedVersions: []string{version.Version}}
}

// ownersOf returns the owners of an object; a nil object has none.
func ownersOf(obj runtime.Object) []metav1.OwnerReference {
	if obj == nil {
		return nil
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil
	}
	return m.GetOwnerReferences()
}

// newlyBlocked returns the owners that wait for the object's deletion and did not before.
func newlyBlocked(owners, before []metav1.OwnerReference) []metav1.OwnerReference {
	waited := map[types.UID]bool{}
	for _, owner := range before {
		waited[owner.UID] = blocks(owner)
	}
	var blocked []metav1.OwnerReference
	for _, owner := range owners {
		if blocks(owner) && !waited[owner.UID] {
			blocked = append(blocked, owner)
		}
	}
	return blocked
}

func blocks(owner metav1.OwnerReference) bool {
	return owner.BlockOwnerDeletion != nil && *owner.BlockOwnerDeletion
}

// orNil returns an error with the text that upstream prints for the absence of one.
func orNil(err error) error {
	if err == nil {
		return UpstreamText("<nil>")
	}
	return err
}
