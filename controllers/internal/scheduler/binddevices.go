package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
	"minikcm.dev/minikcm/controllers/internal/scheduler/plugins"
)

// bindTries is how often a resource claim is read and written if others write it, too.
const bindTries = 5

// bindDevices writes the allocations of a pod's resource claims, and reserves the claims for the
// pod. It creates the claim for extended resources, if the pod needs one.
func (s *Scheduler) bindDevices(ctx context.Context, pod *corev1.Pod) error {
	claims, ok := s.devices.begin(pod.UID)
	switch {
	case !ok && len(pod.Spec.ResourceClaims) == 0:
		return nil
	case !ok:
		return errors.New("the pod is gone")
	}
	for _, a := range slices.Clone(claims) { // wrote changes the elements
		if a.Result == nil && resourceclaim.IsReservedForPod(pod, a.Claim, false) {
			continue
		}
		if a.Mappings != nil {
			var err error
			if a.Claim, err = s.createExtended(ctx, pod, a.Claim); err != nil {
				return err
			}
		}
		written, err := s.bindDevice(ctx, pod, a)
		if err != nil {
			return err
		}
		s.devices.wrote(written)
		if a.Mappings != nil {
			if err := s.nameExtended(ctx, pod, written.Name, a.Mappings); err != nil {
				return err
			}
		}
	}
	s.devices.end(pod.UID)
	return nil
}

// bindDevice writes one claim. It begins with the state that the decision was made on; after a
// conflict it reads the claim.
func (s *Scheduler) bindDevice(ctx context.Context, pod *corev1.Pod, a plugins.DeviceAllocation) (*resourcev1.ResourceClaim, error) {
	name := a.Claim.Namespace + "/" + a.Claim.Name
	claim := a.Claim.DeepCopy()
	for try := 1; ; try++ {
		written, err := s.tryBindDevice(ctx, pod, claim, a)
		if !apierrors.IsConflict(err) || try == bindTries {
			return written, err
		}
		claim, err = s.client.ResourceV1().ResourceClaims(claim.Namespace).Get(ctx, claim.Name, metav1.GetOptions{})
		if err != nil {
			return nil, fmt.Errorf("get updated claim %s after conflict: %w", name, err)
		}
		if claim.UID != a.Claim.UID {
			return nil, fmt.Errorf("claim %s got deleted in the meantime", name)
		}
	}
}

func (s *Scheduler) tryBindDevice(ctx context.Context, pod *corev1.Pod, claim *resourcev1.ResourceClaim, a plugins.DeviceAllocation) (*resourcev1.ResourceClaim, error) {
	name, claims := claim.Namespace+"/"+claim.Name, s.client.ResourceV1().ResourceClaims(claim.Namespace)
	switch {
	case claim.DeletionTimestamp != nil:
		return nil, fmt.Errorf("claim %s got deleted in the meantime", name)
	case a.Result == nil && claim.Status.Allocation == nil:
		return nil, fmt.Errorf("claim %s got deallocated elsewhere in the meantime", name)
	case a.Result != nil && claim.Status.Allocation != nil:
		return nil, fmt.Errorf("claim %s got allocated elsewhere in the meantime", name)
	}
	if a.Result != nil {
		// The finalizer must be there before the allocation: it keeps a claim with one.
		if !slices.Contains(claim.Finalizers, resourcev1.Finalizer) {
			claim.Finalizers = append(claim.Finalizers, resourcev1.Finalizer)
			updated, err := claims.Update(ctx, claim, metav1.UpdateOptions{})
			if err != nil {
				return nil, fmt.Errorf("add finalizer to claim %s: %w", name, err)
			}
			claim = updated.DeepCopy()
		}
		claim.Status.Allocation = a.Result.DeepCopy()
	}
	if claim.Status.Allocation.AllocationTimestamp == nil {
		claim.Status.Allocation.AllocationTimestamp = ptr.To(metav1.NewTime(s.clock.Now()))
	}
	if !resourceclaim.IsReservedForPod(pod, claim, false) {
		claim.Status.ReservedFor = append(claim.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: pod.Name, UID: pod.UID})
	}
	written, err := claims.UpdateStatus(ctx, claim, metav1.UpdateOptions{})
	if err != nil {
		return nil, fmt.Errorf("add reservation to claim %s: %w", name, err)
	}
	return written, nil
}

// unreserveDevices frees the devices of a pod that is not bound: it drops allocations that are not
// written, removes the pod's reservations, and deletes the claim for its extended resources.
func (s *Scheduler) unreserveDevices(ctx context.Context, pod *corev1.Pod) {
	extended := s.devices.extended(pod)
	if s.devices.end(pod.UID) {
		s.queue.Notify(framework.ClusterEvent{Devices: true})
	}
	for _, claim := range s.devices.reservedFor(pod) {
		patch, err := json.Marshal(map[string]any{
			"metadata": map[string]any{"uid": claim.UID},
			"status":   map[string]any{"reservedFor": []any{map[string]any{"$patch": "delete", "uid": pod.UID}}},
		})
		if err == nil {
			_, err = s.client.ResourceV1().ResourceClaims(claim.Namespace).Patch(ctx, claim.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
		}
		if err != nil && !apierrors.IsNotFound(err) && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "Cannot remove a reservation", "resourceclaim", klog.KObj(claim), "pod", klog.KObj(pod))
		}
	}
	if extended != nil {
		s.deleteExtended(ctx, extended)
	}
}

// reservedFor returns the allocated claims of a pod that are reserved for it.
func (d *devices) reservedFor(pod *corev1.Pod) []*resourcev1.ResourceClaim {
	d.mu.Lock()
	defer d.mu.Unlock()
	claims, err := d.claimsLocked(pod)
	if err != nil {
		return nil // claims that are being deleted are freed by the resourceclaim-controller
	}
	return slices.DeleteFunc(claims, func(c *resourcev1.ResourceClaim) bool {
		return c.Status.Allocation == nil || !resourceclaim.IsReservedForPod(pod, c, false)
	})
}

// deallocate removes the allocation of a claim that no pod uses, because it is on no node that its
// pod fits on, or its devices could not be bound.
func (s *Scheduler) deallocate(ctx context.Context, claim *resourcev1.ResourceClaim) {
	claim = claim.DeepCopy()
	claim.Status.Allocation, claim.Status.ReservedFor, claim.Status.Devices = nil, nil, nil
	_, err := s.client.ResourceV1().ResourceClaims(claim.Namespace).UpdateStatus(ctx, claim, metav1.UpdateOptions{})
	if err != nil && !apierrors.IsNotFound(err) && ctx.Err() == nil {
		klog.FromContext(ctx).Error(err, "Cannot deallocate a resource claim", "resourceclaim", klog.KObj(claim))
	}
}
