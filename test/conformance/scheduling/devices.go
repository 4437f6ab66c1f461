package scheduling

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/utils/ptr"
)

const deviceDriver = "gpu.example.com"

// addDevices adds device classes, and the devices of nodes.
func (g *generator) addDevices() {
	g.add(&resourcev1.DeviceClass{ObjectMeta: g.meta("", "gpu"), Spec: resourcev1.DeviceClassSpec{
		Selectors: []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: `device.driver == "` + deviceDriver + `"`}}},
	}})
	g.add(&resourcev1.DeviceClass{ObjectMeta: g.meta("", "large"), Spec: resourcev1.DeviceClassSpec{
		Selectors: []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: `device.attributes["` + deviceDriver + `"].large`}}},
	}})
	for _, n := range g.nodes {
		if g.chance(30) {
			continue
		}
		s := &resourcev1.ResourceSlice{ObjectMeta: g.meta("", "slice-"+n.Name), Spec: resourcev1.ResourceSliceSpec{
			Driver: deviceDriver, NodeName: ptr.To(n.Name), Pool: resourcev1.ResourcePool{Name: n.Name, Generation: 1, ResourceSliceCount: 1},
		}}
		for i := range 1 + g.IntN(3) {
			d := resourcev1.Device{Name: fmt.Sprintf("gpu-%d", i), Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{
				"large": {BoolValue: ptr.To(g.chance(40))},
			}}
			if g.chance(10) {
				d.Taints = []resourcev1.DeviceTaint{{Key: "broken", Effect: resourcev1.DeviceTaintEffectNoSchedule, TimeAdded: ptr.To(s.CreationTimestamp)}}
			}
			s.Spec.Devices = append(s.Spec.Devices, d)
		}
		g.add(s)
	}
}

// addResourceClaims gives the pod claims of its own: those of others are allocated as well.
func (g *generator) addResourceClaims(p *corev1.Pod) {
	name := "claim-" + p.Name
	c := &resourcev1.ResourceClaim{ObjectMeta: g.meta(p.Namespace, name)}
	for i := range pick(g, 1, 1, 2) {
		c.Spec.Devices.Requests = append(c.Spec.Devices.Requests, resourcev1.DeviceRequest{Name: fmt.Sprintf("r%d", i), Exactly: &resourcev1.ExactDeviceRequest{
			DeviceClassName: pick(g, "gpu", "gpu", "large", pick(g, "large", "gpu", "missing")), AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: int64(1 + g.IntN(2)),
		}})
	}
	if g.chance(20) {
		c.Status.Allocation = &resourcev1.AllocationResult{NodeSelector: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{pick(g, g.nodes...).Name}}},
		}}}}
	}
	g.add(c)
	p.Spec.ResourceClaims = append(p.Spec.ResourceClaims, corev1.PodResourceClaim{Name: "c", ResourceClaimName: &name})
}
