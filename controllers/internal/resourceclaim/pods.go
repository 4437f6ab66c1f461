package resourceclaim

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/dynamic-resource-allocation/resourceclaim"

	"minikcm.dev/minikcm/controllers/internal/resourceclaim/decide"
	"minikcm.dev/minikcm/internal/loop"
)

// reconcilePod generates the claims of a pod, writes their names into its status, and reserves
// claims for it if it has a node.
func (c *Controller) reconcilePod(ctx context.Context, pod *corev1.Pod) (loop.Result, error) {
	key := loop.KeyOf(pod)
	if pod.DeletionTimestamp != nil || decide.Ended(pod) {
		return loop.Result{}, nil
	}
	known := c.known(pod)
	generated := map[string]string{}
	for i := range pod.Spec.ResourceClaims {
		podClaim := &pod.Spec.ResourceClaims[i]
		claim, err := c.generate(ctx, pod, podClaim, known)
		if err != nil {
			c.recorder.Eventf(pod, corev1.EventTypeWarning, "FailedResourceClaimCreation", "PodResourceClaim %s: %v", podClaim.Name, err)
			return loop.Result{}, fmt.Errorf("pod %s, PodResourceClaim %s: %w", key, podClaim.Name, err)
		}
		if claim != nil {
			generated[podClaim.Name] = claim.Name
		}
	}
	if err := c.writeStatuses(ctx, pod, decide.Statuses(pod, generated)); err != nil {
		return loop.Result{}, fmt.Errorf("update pod %s ResourceClaimStatuses: %w", key, err)
	}
	if len(generated) > 0 {
		return loop.Result{}, nil // the event of the status wakes the pod again
	}
	return loop.Result{}, c.reserve(ctx, pod, known)
}

// known returns the lookups in the caches for a pod.
func (c *Controller) known(pod *corev1.Pod) decide.Known {
	return decide.Known{
		Claim: func(name string) *resourcev1.ResourceClaim {
			claim, err := c.claims.ResourceClaims(pod.Namespace).Get(name)
			if err != nil {
				return nil // a cache has no other errors than NotFound
			}
			return claim
		},
		Generated: func(podClaim string) *resourcev1.ResourceClaim { return c.generated.get(pod.UID, podClaim) },
		Template: func(name string) (*resourcev1.ResourceClaimTemplate, error) {
			return c.templates.ResourceClaimTemplates(pod.Namespace).Get(name)
		},
	}
}

// generate returns the claim that the pod's status must name; nil: the status is right.
func (c *Controller) generate(ctx context.Context, pod *corev1.Pod, podClaim *corev1.PodResourceClaim, known decide.Known) (*resourcev1.ResourceClaim, error) {
	claim, create, err := decide.Generate(pod, podClaim, known)
	if err != nil || !create {
		return claim, err
	}
	made, err := c.client.ResourceV1().ResourceClaims(pod.Namespace).Create(ctx, claim, metav1.CreateOptions{})
	c.creates.Count(claim, err)
	if err != nil {
		return nil, fmt.Errorf("create ResourceClaim %s: %w", claim.Name, err)
	}
	c.generated.add(made)
	return made, nil
}

// writeStatuses applies the pod's claim statuses, if they differ.
func (c *Controller) writeStatuses(ctx context.Context, pod *corev1.Pod, statuses []corev1.PodResourceClaimStatus) error {
	if resourceclaim.PodStatusEqual(statuses, pod.Status.ResourceClaimStatuses) {
		return nil
	}
	status := applycorev1.PodStatus()
	for _, s := range statuses {
		applied := applycorev1.PodResourceClaimStatus().WithName(s.Name)
		applied.ResourceClaimName = s.ResourceClaimName
		status.WithResourceClaimStatuses(applied)
	}
	_, err := c.client.CoreV1().Pods(pod.Namespace).ApplyStatus(ctx, applycorev1.Pod(pod.Name, pod.Namespace).WithUID(pod.UID).WithStatus(status),
		metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // the pod is gone; with Force, a conflict is one of UIDs
	}
	return err
}

// reserve reserves the allocated claims of a pod that has a node.
func (c *Controller) reserve(ctx context.Context, pod *corev1.Pod, known decide.Known) error {
	claims, err := decide.Reserve(pod, known)
	if err != nil {
		return err
	}
	for _, claim := range claims {
		if _, err := c.client.ResourceV1().ResourceClaims(claim.Namespace).UpdateStatus(ctx, claim, metav1.UpdateOptions{}); err != nil {
			return fmt.Errorf("reserve claim %s/%s for pod: %w", claim.Namespace, claim.Name, err)
		}
	}
	return nil
}
