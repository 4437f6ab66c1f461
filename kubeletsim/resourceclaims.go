package kubeletsim

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/resourceclaim"

	"minikcm.dev/minikcm/kubeletsim/internal/lifecycle"
)

// unprepared returns the need of the first resource claim that a pod cannot use: one that does not
// exist, or is not allocated or not reserved for it. The pod is synced when the claim changes.
func (s *supplies) unprepared(ctx context.Context, pod *corev1.Pod) ([]lifecycle.Need, error) {
	claims := pod.Spec.ResourceClaims
	if extended := pod.Status.ExtendedResourceClaimStatus; extended != nil {
		claims = append(slices.Clip(claims), corev1.PodResourceClaim{ResourceClaimName: &extended.ResourceClaimName})
	}
	for i := range claims {
		name, ofPod, err := resourceclaim.Name(pod, &claims[i])
		if err != nil { // a change of the pod follows
			return []lifecycle.Need{lifecycle.NotPrepared(err)}, nil
		}
		if name == nil {
			continue
		}
		claim, err := s.opts.Client.ResourceV1().ResourceClaims(pod.Namespace).Get(ctx, *name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err), isNotOurs(err):
			err = fmt.Errorf("fetch ResourceClaim %s: %w", *name, err)
		case err != nil:
			return nil, fmt.Errorf("reading resource claim %s/%s: %w", pod.Namespace, *name, err)
		case ofPod:
			err = resourceclaim.IsForPod(pod, claim, false)
		}
		if err == nil && !resourceclaim.IsReservedForPod(pod, claim, false) {
			err = fmt.Errorf("pod %s (%s) is not allowed to use ResourceClaim %s (%s)", pod.Name, pod.UID, *name, claim.UID)
		}
		if err == nil && claim.Status.Allocation == nil {
			err = fmt.Errorf("ResourceClaim %s: not allocated", *name)
		}
		if err != nil {
			return []lifecycle.Need{lifecycle.NotPrepared(err)},
				s.await(supply{ofResourceClaim, types.NamespacedName{Namespace: pod.Namespace, Name: *name}}, pod.UID)
		}
	}
	return nil, nil
}
