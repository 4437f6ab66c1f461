package framework

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ClusterEvent is a change in the cluster that may make waiting pods schedulable.
type ClusterEvent struct {
	// Node has more free resources, or other labels or taints; "": none.
	Node string
	// Added is a pod that was added to a node, Removed one that was removed; nil: none. A pod
	// whose labels changed is both.
	Added, Removed *PodInfo
	// Topology is set if a node was added or deleted, or has other labels or taints.
	Topology bool
	// Offers is set if a node offers other amounts of resources.
	Offers bool
	// Claim is a claim that has changed; its name is "" if none has.
	Claim types.NamespacedName
	// Storage is set if a volume or a StorageClass was added or changed.
	Storage bool
	// ResourceClaim is a resource claim that has changed; its name is "" if none has.
	ResourceClaim types.NamespacedName
	// Devices is set if devices may have become available: a ResourceSlice, a DeviceClass or a
	// DeviceTaintRule has changed, or a resource claim has lost its allocation.
	Devices bool
	// Backed are the resources that a DeviceClass backs and did not before.
	Backed []corev1.ResourceName
}

// Any reports whether the event is not empty.
func (c ClusterEvent) Any() bool {
	return c.Node != "" || c.Added != nil || c.Removed != nil || c.Topology || c.OfVolumes() || c.OfDevices()
}

// OfDevices reports whether the event is one of dynamic resource allocation.
func (c ClusterEvent) OfDevices() bool { return c.Devices || c.ResourceClaim.Name != "" }

// OfVolumes reports whether the event is one of claims, volumes or StorageClasses.
func (c ClusterEvent) OfVolumes() bool { return c.Storage || c.Claim.Name != "" }

// MayBeHelpedBy reports whether a pod that was rejected because of pods elsewhere may be
// schedulable on some node after the event.
func (p *PodInfo) MayBeHelpedBy(c ClusterEvent) bool {
	if c.Topology {
		return true
	}
	for i := range p.SpreadConstraints {
		if s := &p.SpreadConstraints[i]; s.Hard && (c.Added != nil && s.Set.Has(c.Added) || c.Removed != nil && s.Set.Has(c.Removed)) {
			return true
		}
	}
	for i := range p.AffinityTerms {
		switch t := &p.AffinityTerms[i]; t.Kind {
		case RequiredAffinity:
			if c.Added != nil && t.MayMatch(c.Added) {
				return true
			}
		case RequiredAntiAffinity:
			if c.Removed != nil && t.MayMatch(c.Removed) {
				return true
			}
		}
	}
	if c.Removed != nil {
		for i := range c.Removed.AffinityTerms {
			if t := &c.Removed.AffinityTerms[i]; t.Kind == RequiredAntiAffinity && t.MayMatch(p) {
				return true
			}
		}
	}
	return false
}
