package decide

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	resourcev1alpha3 "k8s.io/api/resource/v1alpha3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/controllers/internal/devicetaints"
)

// maxErrorBytes is the size of validationError in the API.
const maxErrorBytes = 256

// Input is a request, and all objects that its answer may depend on.
type Input struct {
	Request *resourcev1alpha3.ResourcePoolStatusRequest
	Slices  []*resourcev1.ResourceSlice
	Claims  []*resourcev1.ResourceClaim
	Rules   []*resourcev1.DeviceTaintRule
}

// Status returns the answer to a request (KEP-5677). It returns nil while a slice of a pool of the answer is
// missing: the driver is publishing the pool.
func Status(in Input, now time.Time) *resourcev1alpha3.ResourcePoolStatusRequestStatus {
	spec := &in.Request.Spec
	pools := poolsOf(in)
	count := ptr.To(int32(len(pools)))
	pools = pools[:min(len(pools), int(ptr.Deref(spec.Limit, resourcev1alpha3.ResourcePoolStatusRequestLimitDefault)))]
	uses := usesOf(in.Claims)
	var shown []resourcev1alpha3.PoolStatus
	invalid := 0
	for _, p := range pools {
		if p.incomplete() {
			return nil
		}
		status := p.status(uses[p.name], spec.DefaultPartitionTypeAttribute)
		if status.ValidationError != nil {
			invalid++
		}
		shown = append(shown, status)
	}
	message := fmt.Sprintf("Calculated status for %d pools", len(shown))
	if invalid > 0 {
		message += fmt.Sprintf(" (%d incomplete)", invalid)
	}
	return &resourcev1alpha3.ResourcePoolStatusRequestStatus{
		PoolCount: count,
		Pools:     shown,
		Conditions: []metav1.Condition{{
			Type: resourcev1alpha3.ResourcePoolStatusRequestConditionComplete, Status: metav1.ConditionTrue,
			LastTransitionTime: metav1.NewTime(now), Reason: "CalculationComplete", Message: message,
		}},
	}
}

// poolName identifies a pool in a cluster.
type poolName struct{ driver, pool string }

func (n poolName) String() string { return n.driver + "/" + n.pool }

// pool is the newest generation of a pool.
type pool struct {
	name       poolName
	generation int64
	// slices are the existing slices of the generation, by name, with the taints that rules add.
	slices []*resourcev1.ResourceSlice
}

// poolsOf returns the pools that a request selects, by name.
func poolsOf(in Input) []*pool {
	spec := &in.Request.Spec
	byName := map[poolName]*pool{}
	for _, s := range devicetaints.Tainted(in.Slices, in.Rules) {
		name := poolName{s.Spec.Driver, s.Spec.Pool.Name}
		if name.driver != spec.Driver || spec.PoolName != nil && name.pool != *spec.PoolName {
			continue
		}
		p := byName[name]
		if p == nil || s.Spec.Pool.Generation > p.generation {
			p = &pool{name: name, generation: s.Spec.Pool.Generation}
			byName[name] = p
		}
		if s.Spec.Pool.Generation == p.generation {
			p.slices = append(p.slices, s)
		}
	}
	var pools []*pool
	for _, p := range byName {
		slices.SortFunc(p.slices, func(a, b *resourcev1.ResourceSlice) int { return cmp.Compare(a.Name, b.Name) })
		pools = append(pools, p)
	}
	slices.SortFunc(pools, func(a, b *pool) int { return cmp.Compare(a.name.pool, b.name.pool) })
	return pools
}

// incomplete reports whether slices of the pool are missing.
func (p *pool) incomplete() bool {
	return int64(len(p.slices)) < p.slices[0].Spec.Pool.ResourceSliceCount
}

// node returns the node of all slices; nil: there is none, or slices differ.
func (p *pool) node() *string {
	node := p.slices[0].Spec.NodeName
	if slices.ContainsFunc(p.slices, func(s *resourcev1.ResourceSlice) bool { return ptr.Deref(s.Spec.NodeName, "") != ptr.Deref(node, "") }) {
		return nil
	}
	return node
}

// status counts the devices of a complete pool.
func (p *pool) status(u use, attribute *string) resourcev1alpha3.PoolStatus {
	var total, unavailable int32
	for _, s := range p.slices {
		total += int32(len(s.Spec.Devices))
		for i := range s.Spec.Devices {
			if unschedulable(&s.Spec.Devices[i]) {
				unavailable++
			}
		}
	}
	allocated := int32(len(u.devices))
	status := resourcev1alpha3.PoolStatus{
		Driver: p.name.driver, PoolName: p.name.pool, Generation: p.generation, NodeName: p.node(),
		ResourceSliceCount: ptr.To(int32(len(p.slices))),
		TotalDevices:       &total, AllocatedDevices: &allocated, UnavailableDevices: &unavailable,
		AvailableDevices: ptr.To(max(0, total-allocated-unavailable)),
	}
	partitions, problem := p.partitions(u, attribute)
	shareable, other := p.shareable(u)
	status.ShareableSummary = shareable
	if problem = cmp.Or(problem, other); problem != "" {
		status.ValidationError = ptr.To(problem[:min(len(problem), maxErrorBytes)])
	} else {
		status.PartitionSummary = partitions
	}
	return status
}

// unschedulable reports whether a taint of the device keeps claims from it that do not tolerate it.
func unschedulable(d *resourcev1.Device) bool {
	return slices.ContainsFunc(d.Taints, func(t resourcev1.DeviceTaint) bool {
		return t.Effect == resourcev1.DeviceTaintEffectNoSchedule || t.Effect == resourcev1.DeviceTaintEffectNoExecute
	})
}
