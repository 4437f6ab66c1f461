package scheduler

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
	"minikcm.dev/minikcm/controllers/internal/scheduler/plugins"
	"minikcm.dev/minikcm/internal/resourcename"
)

const extendedClaims = "minikcm.dev/extended-resource-claims-by-pod"

// indexExtendedClaims adds an index of the claims for extended resources by the UIDs of their pods, unless the
// cache has it.
func indexExtendedClaims(claims cache.Indexer) error {
	if _, has := claims.GetIndexers()[extendedClaims]; has {
		return nil
	}
	return claims.AddIndexers(cache.Indexers{extendedClaims: func(obj any) ([]string, error) {
		if claim, ok := obj.(*resourcev1.ResourceClaim); ok {
			if owner := plugins.ExtendedClaimOwner(claim); owner != nil {
				return []string{string(owner.UID)}, nil
			}
		}
		return nil, nil
	}})
}

// backed returns which resources of a pod DeviceClasses back; nil: none.
func (d *devices) backed(p *framework.PodInfo) plugins.Backed {
	var backed plugins.Backed
	for name, amount := range p.Requests.Scalar {
		if amount == 0 || !resourcename.MayBeDevices(name) {
			continue
		}
		if class := d.backing.GetDeviceClass(name); class != nil {
			if backed == nil {
				backed = plugins.Backed{}
			}
			backed[name] = class.Name
		}
	}
	return backed
}

// extended returns the claim that was created for a pod's extended resources; nil: there is none.
func (d *devices) extended(pod *corev1.Pod) *resourcev1.ResourceClaim {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.extendedLocked(pod)
}

func (d *devices) extendedLocked(pod *corev1.Pod) *resourcev1.ResourceClaim {
	var found []*resourcev1.ResourceClaim
	objects, _ := d.ofPods.ByIndex(extendedClaims, string(pod.UID)) // fails only without the index
	for _, obj := range objects {
		if claim, ok := obj.(*resourcev1.ResourceClaim); ok && plugins.IsExtendedClaim(claim, pod) {
			found = append(found, d.newestLocked(claim))
		}
	}
	if len(found) > 0 {
		return slices.MinFunc(found, func(a, b *resourcev1.ResourceClaim) int { return cmp.Compare(a.Name, b.Name) })
	}
	if wait := d.byPod[pod.UID]; wait != nil {
		for _, a := range wait.claims {
			if a.Mappings != nil && a.Claim.ResourceVersion != "" {
				return a.Claim
			}
		}
	}
	for _, claim := range d.written {
		if d.shown[claim.UID] == nil && plugins.IsExtendedClaim(claim, pod) {
			return claim
		}
	}
	return nil
}

// createExtended creates the claim for a pod's extended resources. From then on, the allocation is pending for
// the claim as it was created.
func (s *Scheduler) createExtended(ctx context.Context, pod *corev1.Pod, claim *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error) {
	claim = claim.DeepCopy()
	claim.Name, claim.UID = "", ""
	created, err := s.client.ResourceV1().ResourceClaims(claim.Namespace).Create(ctx, claim, metav1.CreateOptions{})
	s.metrics.creates.Count(claim, err)
	if err != nil {
		return nil, fmt.Errorf("create claim for extended resources %s/: %w", claim.Namespace, err)
	}
	s.devices.created(pod.UID, created)
	return created, nil
}

// created replaces the claim for a pod's extended resources with the one in the API.
func (d *devices) created(pod types.UID, claim *resourcev1.ResourceClaim) {
	d.mu.Lock()
	defer d.mu.Unlock()
	wait := d.byPod[pod]
	if wait == nil {
		return
	}
	for i := range wait.claims {
		if wait.claims[i].Mappings != nil {
			made := wait.claims[i].Claim.UID
			delete(d.pending, made)
			wait.claims[i].Claim = claim
			d.pending[claim.UID] = wait
			d.countLocked(made)
			d.countLocked(claim.UID)
		}
	}
}

// nameExtended writes the name of the claim for a pod's extended resources into the pod's status.
func (s *Scheduler) nameExtended(ctx context.Context, pod *corev1.Pod, claim string, mappings []corev1.ContainerExtendedResourceRequest) error {
	err := s.patchPod(ctx, pod, map[string]any{"uid": pod.UID}, map[string]any{
		"extendedResourceClaimStatus": &corev1.PodExtendedResourceClaimStatus{ResourceClaimName: claim, RequestMappings: mappings},
	})
	if err != nil {
		return fmt.Errorf("update pod %s/%s ExtendedResourceClaimStatus: %w", pod.Namespace, pod.Name, err)
	}
	return nil
}

// deleteExtended deletes a claim for extended resources, whose pod is not bound.
func (s *Scheduler) deleteExtended(ctx context.Context, claim *resourcev1.ResourceClaim) {
	err := s.tryDeleteExtended(ctx, claim)
	switch {
	case err == nil || apierrors.IsNotFound(err):
		s.devices.deleted(claim)
	case ctx.Err() == nil:
		klog.FromContext(ctx).Error(err, "Cannot delete the claim for extended resources", "resourceclaim", klog.KObj(claim))
	}
}

// tryDeleteExtended removes the finalizer first, which keeps a claim with an allocation. The update also finds
// out whether the claim has received one since.
func (s *Scheduler) tryDeleteExtended(ctx context.Context, claim *resourcev1.ResourceClaim) error {
	claims, uid := s.client.ResourceV1().ResourceClaims(claim.Namespace), claim.UID
	for try := 1; ; try++ {
		claim = claim.DeepCopy()
		claim.Finalizers = slices.DeleteFunc(claim.Finalizers, func(f string) bool { return f == resourcev1.Finalizer })
		_, err := claims.Update(ctx, claim, metav1.UpdateOptions{})
		if err == nil {
			return claims.Delete(ctx, claim.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(uid))})
		}
		if !apierrors.IsConflict(err) || try == bindTries {
			return err
		}
		if claim, err = claims.Get(ctx, claim.Name, metav1.GetOptions{}); err != nil {
			return err
		}
	}
}

// deleted forgets a claim that events have not shown and that is gone.
func (d *devices) deleted(claim *resourcev1.ResourceClaim) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.written, claim.UID)
	d.countLocked(claim.UID)
}
