package decide

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Release holds the writes that release a claim, in the order of its fields.
type Release struct {
	// Status is the new status; nil: it does not change.
	Status *resourcev1.ResourceClaimStatus
	// Finalizer is set if the finalizer of the allocation is removed.
	Finalizer bool
	// Delete is set if the claim was generated for a pod that does not need it any more.
	Delete bool
}

// ReleaseClaim decides about a claim. ended has the UIDs of consumers that have ended or are gone.
// owner is the pod in the cache that has the name of the claim's owner; nil: none.
//
// A claim loses its allocation with its last reservation, so that its next consumer may be on
// another node. A claim that is allocated and has not been reserved yet keeps the allocation, until
// it is deleted.
func ReleaseClaim(claim *resourcev1.ResourceClaim, ended map[types.UID]bool, owner *corev1.Pod) Release {
	var r Release
	reserved := slices.DeleteFunc(slices.Clone(claim.Status.ReservedFor), func(c resourcev1.ResourceClaimConsumerReference) bool { return ended[c.UID] })
	fewer := len(reserved) < len(claim.Status.ReservedFor)
	finalizer := slices.Contains(claim.Finalizers, resourcev1.Finalizer)
	deallocate := finalizer && len(reserved) == 0 && claim.Status.Allocation != nil && (fewer || claim.DeletionTimestamp != nil)
	if fewer || deallocate {
		r.Status = claim.Status.DeepCopy()
		r.Status.ReservedFor = reserved
		if deallocate {
			r.Status.Allocation = nil
		}
	}
	allocated := claim.Status.Allocation != nil && !deallocate
	r.Finalizer = finalizer && !allocated && (fewer || claim.DeletionTimestamp != nil && len(reserved) == 0)
	if of := OwnerPod(claim); of != nil && owner != nil && len(reserved) == 0 {
		r.Delete = claim.DeletionTimestamp == nil && (owner.UID != of.UID || Ended(owner))
	}
	return r
}

// OwnerPod returns the reference to the pod that a claim was generated for; nil: none.
func OwnerPod(claim *resourcev1.ResourceClaim) *metav1.OwnerReference {
	ref := metav1.GetControllerOfNoCopy(claim)
	if ref == nil || ref.APIVersion != "v1" || ref.Kind != "Pod" {
		return nil
	}
	return ref
}
