package resourceclaim

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/controllers/internal/resourceclaim/decide"
	"minikcm.dev/minikcm/internal/loop"
)

// reconcileClaim removes from a claim the reservations, the allocation and the finalizer that its consumers
// do not need any more.
func (c *Controller) reconcileClaim(ctx context.Context, claim *resourcev1.ResourceClaim) (loop.Result, error) {
	key := loop.KeyOf(claim)
	ended, err := c.ended(ctx, claim)
	if err != nil {
		return loop.Result{}, fmt.Errorf("checking the consumers of resource claim %s: %w", key, err)
	}
	var owner *corev1.Pod
	if ref := decide.OwnerPod(claim); ref != nil {
		owner, _ = c.pods.Pods(claim.Namespace).Get(ref.Name) // nil if the cache does not have it
	}
	if err := c.release(ctx, claim, decide.ReleaseClaim(claim, ended, owner)); err != nil && !apierrors.IsNotFound(err) {
		return loop.Result{}, fmt.Errorf("releasing resource claim %s: %w", key, err)
	}
	return loop.Result{}, nil
}

// ended returns the consumers of a claim that have ended or are gone. It asks the API about pods
// that the cache does not have: the cache may be behind the scheduler, which reserves claims for
// new pods.
func (c *Controller) ended(ctx context.Context, claim *resourcev1.ResourceClaim) (map[types.UID]bool, error) {
	ended := map[types.UID]bool{}
	for _, consumer := range claim.Status.ReservedFor {
		if consumer.APIGroup != "" || consumer.Resource != "pods" {
			return nil, fmt.Errorf("unsupported ReservedFor entry: %v", consumer)
		}
		pod, err := c.pods.Pods(claim.Namespace).Get(consumer.Name)
		if apierrors.IsNotFound(err) {
			pod, err = c.client.CoreV1().Pods(claim.Namespace).Get(ctx, consumer.Name, metav1.GetOptions{})
		}
		switch {
		case apierrors.IsNotFound(err):
			ended[consumer.UID] = true
		case err != nil:
			return nil, fmt.Errorf("getting pod %s/%s: %w", claim.Namespace, consumer.Name, err)
		default:
			ended[consumer.UID] = pod.UID != consumer.UID || decide.Ended(pod)
		}
	}
	return ended, nil
}

// release writes the decision, if the claim has not changed since.
func (c *Controller) release(ctx context.Context, claim *resourcev1.ResourceClaim, r decide.Release) error {
	claims := c.client.ResourceV1().ResourceClaims(claim.Namespace)
	var err error
	if r.Status != nil {
		claim = claim.DeepCopy()
		claim.Status = *r.Status
		if claim, err = claims.UpdateStatus(ctx, claim, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	if r.Finalizer {
		claim = claim.DeepCopy()
		claim.Finalizers = slices.DeleteFunc(claim.Finalizers, func(f string) bool { return f == resourcev1.Finalizer })
		if claim, err = claims.Update(ctx, claim, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	if r.Delete {
		return claims.Delete(ctx, claim.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(claim.UID))})
	}
	return nil
}
