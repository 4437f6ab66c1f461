package plugins

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
)

// filterFit is NodeResourcesFit. It lists every resource that is insufficient. It leaves a resource to
// DynamicResources if a DeviceClass backs it and the node has none of it.
func filterFit(in *Input, n *framework.NodeInfo) *rejection {
	want := &in.fit
	full := int64(len(n.Pods)) >= n.AllowedPods
	if !full && fits(want, n, in.backed) {
		return nil
	}
	if full && (want.IsZero() || fits(want, n, in.backed)) {
		return fixed.tooManyPods
	}
	r := &rejection{plugin: NodeResourcesFit}
	if full {
		r.reasons = append(r.reasons, reasonTooManyPods)
	}
	check := func(name corev1.ResourceName, amount, has, used int64) {
		if amount > 0 && amount > has-used {
			r.reasons = append(r.reasons, "Insufficient "+string(name))
			r.final = r.final || amount > has
		}
	}
	check(corev1.ResourceCPU, want.MilliCPU, n.Allocatable.MilliCPU, n.Requested.MilliCPU)
	check(corev1.ResourceMemory, want.Memory, n.Allocatable.Memory, n.Requested.Memory)
	check(corev1.ResourceEphemeralStorage, want.EphemeralStorage, n.Allocatable.EphemeralStorage, n.Requested.EphemeralStorage)
	for _, name := range slices.Sorted(maps.Keys(want.Scalar)) {
		if !in.backed.leaves(name, n) {
			check(name, want.Scalar[name], n.Allocatable.Scalar[name], n.Requested.Scalar[name])
		}
	}
	return r
}

// fits is the fast path of filterFit, without reasons.
func fits(want *framework.Resource, n *framework.NodeInfo, backed Backed) bool {
	free := func(want, has, used int64) bool { return want <= 0 || want <= has-used }
	if !free(want.MilliCPU, n.Allocatable.MilliCPU, n.Requested.MilliCPU) ||
		!free(want.Memory, n.Allocatable.Memory, n.Requested.Memory) ||
		!free(want.EphemeralStorage, n.Allocatable.EphemeralStorage, n.Requested.EphemeralStorage) {
		return false
	}
	if len(want.Scalar) == 0 { // the start of an iteration costs more than all comparisons above
		return true
	}
	for name, amount := range want.Scalar {
		if !free(amount, n.Allocatable.Scalar[name], n.Requested.Scalar[name]) && !backed.leaves(name, n) {
			return false
		}
	}
	return true
}
