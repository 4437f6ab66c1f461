package scheduling

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

const deviceDriver = "gpu.example.com"

// addDevices adds device classes, the devices of nodes, and claims that have some of them.
func (g *generator) addDevices() {
	g.backed = g.chance(60)
	class := func(name, expression string, backs bool) {
		c := &resourcev1.DeviceClass{ObjectMeta: g.meta("", name), Spec: resourcev1.DeviceClassSpec{
			Selectors: []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: expression}}},
		}}
		if backs {
			c.Spec.ExtendedResourceName = ptr.To(gpu)
		}
		g.add(c)
	}
	class("gpu", `device.driver == "`+deviceDriver+`"`, g.backed)
	class("large", `device.attributes["`+deviceDriver+`"].large`, g.backed && g.chance(30)) // the newer class counts
	for _, n := range g.nodes {
		if g.chance(80) {
			g.addDevicesOf(n)
		}
	}
}

func (g *generator) addDevicesOf(n *corev1.Node) {
	s := &resourcev1.ResourceSlice{ObjectMeta: g.meta("", "slice-"+n.Name), Spec: resourcev1.ResourceSliceSpec{
		Driver: deviceDriver, NodeName: ptr.To(n.Name), Pool: resourcev1.ResourcePool{Name: n.Name, Generation: 1, ResourceSliceCount: 1},
	}}
	taken := &resourcev1.ResourceClaim{ObjectMeta: g.meta("default", "taken-"+n.Name)}
	taken.Spec.Devices.Requests = []resourcev1.DeviceRequest{exactly("r", "gpu", 1)}
	taken.Status.Allocation = &resourcev1.AllocationResult{NodeSelector: onNode(n.Name)}
	for i := range 1 + g.IntN(4) {
		d := resourcev1.Device{Name: fmt.Sprintf("gpu-%d", i), Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{
			"large": {BoolValue: ptr.To(g.chance(40))},
		}}
		if g.chance(10) {
			d.Taints = []resourcev1.DeviceTaint{{Key: "broken", Effect: resourcev1.DeviceTaintEffectNoSchedule, TimeAdded: ptr.To(s.CreationTimestamp)}}
		}
		s.Spec.Devices = append(s.Spec.Devices, d)
		if g.chance(25) {
			taken.Status.Allocation.Devices.Results = append(taken.Status.Allocation.Devices.Results,
				resourcev1.DeviceRequestAllocationResult{Request: "r", Driver: deviceDriver, Pool: n.Name, Device: d.Name})
		}
	}
	g.add(s)
	if len(taken.Status.Allocation.Devices.Results) > 0 {
		taken.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: "other", UID: "other"}}
		g.add(taken)
	}
}

func onNode(name string) *corev1.NodeSelector {
	return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{name}}},
	}}}
}

func exactly(name, class string, count int) resourcev1.DeviceRequest {
	return resourcev1.DeviceRequest{Name: name, Exactly: &resourcev1.ExactDeviceRequest{
		DeviceClassName: class, AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: int64(count),
	}}
}

// addResourceClaims gives the pod a claim of its own.
func (g *generator) addResourceClaims(p *corev1.Pod) {
	name := "claim-" + p.Name
	c := &resourcev1.ResourceClaim{ObjectMeta: g.meta(p.Namespace, name)}
	for i := range pick(g, 1, 1, 2) {
		request := exactly(fmt.Sprintf("r%d", i), pick(g, "gpu", "gpu", "large", pick(g, "large", "gpu", "missing")), 1+g.IntN(2))
		if g.chance(40) {
			request.Exactly, request.FirstAvailable = nil, g.alternatives()
		}
		c.Spec.Devices.Requests = append(c.Spec.Devices.Requests, request)
	}
	if g.chance(20) {
		c.Status.Allocation = &resourcev1.AllocationResult{NodeSelector: onNode(pick(g, g.nodes...).Name)}
		if g.chance(50) {
			c.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: p.Name, UID: pick(g, p.UID, "other")}}
		}
	}
	g.add(c)
	p.Spec.ResourceClaims = append(p.Spec.ResourceClaims, corev1.PodResourceClaim{Name: "c", ResourceClaimName: &name})
}

// alternatives are requests of which the first that can be satisfied counts.
func (g *generator) alternatives() []resourcev1.DeviceSubRequest {
	var all []resourcev1.DeviceSubRequest
	for i := range 1 + g.IntN(3) {
		all = append(all, resourcev1.DeviceSubRequest{
			Name: fmt.Sprintf("s%d", i), DeviceClassName: pick(g, "large", "gpu"), AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: int64(1 + g.IntN(3)),
		})
	}
	return all
}

// addExtended lets containers of the pod request devices as an extended resource.
func (g *generator) addExtended(p *corev1.Pod) {
	for i := range p.Spec.Containers {
		if g.chance(70) {
			p.Spec.Containers[i].Resources.Requests[pick[corev1.ResourceName](g, gpu, gpu, "deviceclass.resource.kubernetes.io/gpu", "deviceclass.resource.kubernetes.io/missing")] = resource.MustParse(pick(g, "1", "1", "2", "0"))
		}
	}
	if g.chance(10) {
		claim := &resourcev1.ResourceClaim{ObjectMeta: g.meta(p.Namespace, "left-"+p.Name)}
		claim.Annotations = map[string]string{resourcev1.ExtendedResourceClaimAnnotation: "true"}
		claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: p.Name, UID: p.UID, Controller: ptr.To(true)}}
		claim.Spec.Devices.Requests = []resourcev1.DeviceRequest{exactly("container-0-request-0", "gpu", 1)}
		g.add(claim)
	}
}
