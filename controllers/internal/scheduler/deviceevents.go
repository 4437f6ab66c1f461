package scheduler

import (
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
	"minikcm.dev/minikcm/controllers/internal/scheduler/plugins"
)

// resourceClaimHandler keeps account of allocations, resumes the pods that wait for the devices of a resource
// claim, and retries the pods that a claim or its devices were a reason against.
func (s *Scheduler) resourceClaimHandler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) {
			if claim, ok := obj.(*resourcev1.ResourceClaim); ok {
				s.queue.Notify(s.devices.set(nil, claim))
				s.devicesChanged(claim)
			}
		},
		UpdateFunc: func(old, obj any) {
			was, ok := old.(*resourcev1.ResourceClaim)
			claim, ok2 := obj.(*resourcev1.ResourceClaim)
			if !ok || !ok2 {
				return
			}
			if was.UID != claim.UID { // deleted and created again between two lists
				s.queue.Notify(s.devices.remove(was))
				was = nil
			}
			s.queue.Notify(s.devices.set(was, claim))
			s.devicesChanged(claim)
		},
		DeleteFunc: func(obj any) {
			if claim, ok := last[*resourcev1.ResourceClaim](obj); ok {
				s.queue.Notify(s.devices.remove(claim))
				s.devicesChanged(claim)
			}
		},
	}
}

// deviceClassHandler retries the pods that were rejected because of devices, and the pods that request resources
// that a class backs now.
func (s *Scheduler) deviceClassHandler() cache.ResourceEventHandler {
	changed := func(was, class *resourcev1.DeviceClass) {
		c := framework.ClusterEvent{Devices: true}
		if was == nil {
			c.Backed = append(c.Backed, corev1.ResourceName(resourcev1.ResourceDeviceClassPrefix+class.Name))
		}
		s.devices.setClasses()
		if name := class.Spec.ExtendedResourceName; name != nil && (was == nil || !ptr.Equal(name, was.Spec.ExtendedResourceName)) {
			c.Backed = append(c.Backed, corev1.ResourceName(*name))
		}
		s.queue.Notify(c)
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) {
			if class, ok := obj.(*resourcev1.DeviceClass); ok {
				changed(nil, class)
			}
		},
		UpdateFunc: func(old, obj any) {
			was, ok := old.(*resourcev1.DeviceClass)
			class, ok2 := obj.(*resourcev1.DeviceClass)
			if ok && ok2 {
				changed(was, class)
			}
		},
		DeleteFunc: func(any) {
			s.devices.setClasses()
			s.queue.Notify(framework.ClusterEvent{Devices: true})
		},
	}
}

// sliceHandler keeps account of the published devices, and retries the pods that devices were a reason against.
func (s *Scheduler) sliceHandler() cache.ResourceEventHandler {
	return s.deviceHandler(func(obj any, gone bool) {
		if slice, ok := last[*resourcev1.ResourceSlice](obj); ok {
			s.devices.setSlice(slice, gone)
		}
	})
}

// taintRuleHandler keeps account of taints, and retries the pods that devices were a reason against.
func (s *Scheduler) taintRuleHandler() cache.ResourceEventHandler {
	return s.deviceHandler(func(any, bool) { s.devices.setRules() })
}

func (s *Scheduler) deviceHandler(note func(obj any, gone bool)) cache.ResourceEventHandler {
	changed := func(obj any, gone bool) {
		note(obj, gone)
		s.queue.Notify(framework.ClusterEvent{Devices: true})
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { changed(obj, false) },
		UpdateFunc: func(_, obj any) { changed(obj, false) },
		DeleteFunc: func(obj any) { changed(obj, true) },
	}
}

// set stores the state of a claim that the informer shows; was is the state before, nil: none.
func (d *devices) set(was, claim *resourcev1.ResourceClaim) framework.ClusterEvent {
	d.mu.Lock()
	defer d.mu.Unlock()
	if written := d.written[claim.UID]; written != nil && versionOf(claim) >= versionOf(written) {
		delete(d.written, claim.UID)
	}
	d.shown[claim.UID] = claim
	d.countLocked(claim.UID)
	d.forgetMissedLocked(versionOf(claim))
	c := framework.ClusterEvent{Devices: was != nil && was.Status.Allocation != nil && claim.Status.Allocation == nil}
	if was == nil || !equality.Semantic.DeepEqual(was.Status, claim.Status) {
		c.ResourceClaim = keyOf(claim)
	}
	return c
}

// forgetMissedLocked forgets claims that were created and deleted between two lists of the informer, so that
// no event has shown them: events of later versions would have come after theirs.
func (d *devices) forgetMissedLocked(version uint64) {
	for uid, claim := range d.written {
		if d.shown[uid] != nil || versionOf(claim) >= version {
			continue
		}
		if _, err := d.claims.ResourceClaims(claim.Namespace).Get(claim.Name); err != nil {
			delete(d.written, uid)
			d.countLocked(uid)
		}
	}
}

// remove forgets a claim that is gone.
func (d *devices) remove(claim *resourcev1.ResourceClaim) framework.ClusterEvent {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.shown, claim.UID)
	delete(d.written, claim.UID)
	d.countLocked(claim.UID)
	return framework.ClusterEvent{Devices: claim.Status.Allocation != nil}
}

// reserve records the allocations of a pod for which a node was chosen.
func (d *devices) reserve(pod types.UID, claims []plugins.DeviceAllocation) {
	d.mu.Lock()
	defer d.mu.Unlock()
	wait := &deviceWait{claims: claims}
	d.byPod[pod] = wait
	for _, a := range claims {
		if a.Result != nil {
			d.pending[a.Claim.UID] = wait
			d.countLocked(a.Claim.UID)
		}
	}
}

// forget removes the allocations of a pod that is gone before they are written. It reports
// whether there were any.
func (d *devices) forget(pod types.UID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	wait := d.byPod[pod]
	return wait != nil && !wait.writing && d.dropLocked(pod, wait)
}

// dropLocked removes the allocations of a pod that are not written. It reports whether there were
// any.
func (d *devices) dropLocked(pod types.UID, wait *deviceWait) (dropped bool) {
	delete(d.byPod, pod)
	for _, a := range wait.claims {
		if a.Result != nil && d.pending[a.Claim.UID] == wait {
			delete(d.pending, a.Claim.UID)
			d.countLocked(a.Claim.UID)
			dropped = true
		}
	}
	return dropped
}

// begin returns the claims of a pod, to be written; ok is false if they have been forgotten.
func (d *devices) begin(pod types.UID) (claims []plugins.DeviceAllocation, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	wait := d.byPod[pod]
	if wait == nil {
		return nil, false
	}
	wait.writing = true
	return wait.claims, true
}

// end removes the pending allocations of a pod whose claims have been written, or will not be. It
// reports whether allocations were dropped that had not been written.
func (d *devices) end(pod types.UID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	wait := d.byPod[pod]
	return wait != nil && d.dropLocked(pod, wait)
}

// wrote keeps a claim as it was written until the informer shows it, and ends its pending
// allocation in the same step.
func (d *devices) wrote(claim *resourcev1.ResourceClaim) {
	d.mu.Lock()
	defer d.mu.Unlock()
	defer d.countLocked(claim.UID)
	created := false
	if wait := d.pending[claim.UID]; wait != nil {
		delete(d.pending, claim.UID)
		for i := range wait.claims {
			if wait.claims[i].Claim.UID == claim.UID {
				wait.claims[i].Result = nil
				created = wait.claims[i].Mappings != nil
			}
		}
	}
	shown := d.shown[claim.UID]
	if shown == nil && !created {
		// The claim is gone, or the cache is ahead of the claim's first event.
		cached, err := d.claims.ResourceClaims(claim.Namespace).Get(claim.Name)
		if err != nil || cached.UID != claim.UID {
			return
		}
	}
	if shown == nil || versionOf(shown) < versionOf(claim) {
		d.written[claim.UID] = claim
	}
}
