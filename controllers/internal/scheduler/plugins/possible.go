package plugins

import (
	"slices"

	resourcev1 "k8s.io/api/resource/v1"

	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
)

// possible returns a set that has all nodes that the pod may fit on by their labels and names alone; nil: all nodes.
// With it, the cost of the search depends on the number of these nodes, not on the size of the cluster. A traced
// decision tries all nodes, because it records the reasons against each of them.
func (in *Input) possible() framework.NodeSet {
	if in.Trace != nil {
		return nil
	}
	var all framework.NodeSet
	if in.Pod.HasNodeAffinity && in.profile.nodeAffinity {
		spec := &in.Pod.Pod.Spec
		for label, value := range spec.NodeSelector {
			all = all.And(in.Snapshot.NodesWith(label, value))
		}
		if a := spec.Affinity; a != nil && a.NodeAffinity != nil {
			all = all.And(in.Snapshot.NodesFor(a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution))
		}
	}
	if in.Volumes != nil && in.profile.binding {
		all = all.And(in.Volumes.possible(in.Snapshot))
	}
	if in.Devices != nil {
		all = all.And(in.Devices.possible(in.Snapshot))
	}
	return all
}

// possible returns a set of nodes that has all that the volumes of the pod's bound claims allow. It notes whether these
// are exactly the nodes that filter allows.
func (v *Volumes) possible(snapshot *framework.Snapshot) framework.NodeSet {
	v.allowed, v.settled = nil, true
	for i := range v.Claims {
		c := &v.Claims[i]
		if c.Object == nil || !Bound(c.Object) || c.Volume == nil {
			v.settled = false
			continue
		}
		v.settled = v.settled && !isZoned(c.Volume)
		if affinity := c.Volume.Spec.NodeAffinity; affinity != nil {
			set, exact := snapshot.NodesLabelled(affinity.Required)
			v.allowed, v.settled = v.allowed.And(set), v.settled && exact
		}
	}
	return v.allowed
}

// possible returns a set of nodes that has all that the pod's resource claims allow.
func (d *Devices) possible(snapshot *framework.Snapshot) framework.NodeSet {
	if d.err != nil {
		return nil
	}
	var all framework.NodeSet
	for _, claim := range d.Claims {
		if claim.Status.Allocation != nil {
			all = all.And(snapshot.NodesFor(claim.Status.Allocation.NodeSelector))
		}
	}
	if d.Published != nil && (slices.ContainsFunc(d.unallocated, needsDevice) || d.Extended.needsDevice(snapshot)) {
		all = all.And(d.Published(snapshot))
	}
	return all
}

// needsDevice reports whether no allocation of a claim is without a device.
func needsDevice(claim *resourcev1.ResourceClaim) bool {
	return slices.ContainsFunc(claim.Spec.Devices.Requests, func(r resourcev1.DeviceRequest) bool {
		return r.Exactly != nil && r.Exactly.AllocationMode == resourcev1.DeviceAllocationModeExactCount && r.Exactly.Count > 0
	})
}

// tryOthers tries the nodes that are not possible, for the reasons against them.
func (s *Search) tryOthers() {
	if s.possible == nil {
		return
	}
	for k := range s.looked {
		if index := (s.in.Start + k) % s.in.Snapshot.Len(); !s.possible.Has(index) {
			s.try(index)
		}
	}
	s.possible = nil
}
