package nodes

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/simulatedcloud"
)

// machine is a node's view of its instance in the simulated cloud. The node's mutex guards it.
type machine struct {
	// instance is the node's instance. Without a ProviderID it has none: there is no cloud, or it is
	// a machine of another one.
	instance simulatedcloud.Instance
	// unasked means that the cloud has not been asked yet for the instance: the kubelet does not act
	// on pods before, since the instance may be stopped. off means that the instance is stopped or
	// gone.
	unasked, off bool
}

// Instance returns the node's instance; without a ProviderID, it has none.
func (n *Node) Instance() simulatedcloud.Instance {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.machine.instance
}

// InstanceFor describes the instance to create for the node, which has the given Node, or nil for
// one without a Node yet. Labels of the Node, or of the node's spec, name its type, zone and region.
func (n *Node) InstanceFor(object *corev1.Node, now time.Time) simulatedcloud.Instance {
	labels := maps.Clone(n.spec.Labels)
	if object != nil {
		labels = object.Labels
	}
	i := simulatedcloud.Instance{
		Name: n.Name, Address: n.Address,
		Zone:   cmp.Or(labels[corev1.LabelTopologyZone], labels[corev1.LabelFailureDomainBetaZone], simulatedcloud.DefaultZone),
		Region: cmp.Or(labels[corev1.LabelTopologyRegion], labels[corev1.LabelFailureDomainBetaRegion], simulatedcloud.DefaultRegion),
		Type:   cmp.Or(labels[corev1.LabelInstanceTypeStable], labels[corev1.LabelInstanceType], n.instanceType()),
	}
	i.ProviderID = simulatedcloud.ProviderID(i.Zone, n.Name, now)
	return i
}

// instanceType returns the type of an instance whose node states none.
func (n *Node) instanceType() string {
	capacity := n.spec.capacity()
	cpu, memory := capacity[corev1.ResourceCPU], capacity[corev1.ResourceMemory]
	return fmt.Sprintf("sim.%dcpu.%dgi", cpu.Value(), memory.Value()>>30)
}

// SetInstance sets the node's instance, which may be stopped. Without a ProviderID, the node has
// none and is on.
func (n *Node) SetInstance(i simulatedcloud.Instance) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.machine = machine{instance: i, off: i.Stopped}
}

// Gone records that the instance with the provider ID, which the node's Node states, is gone.
func (n *Node) Gone(providerID string) {
	n.SetInstance(simulatedcloud.Instance{Name: n.Name, ProviderID: providerID, Stopped: true})
}

// SetPower sets whether the instance with the provider ID runs. It returns false if the node has
// another instance, or it is so already. A kubelet that comes up registers again, as after a
// reboot.
func (n *Node) SetPower(providerID string, on bool) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.instance.ProviderID == "" || n.instance.ProviderID != providerID || n.off == !on {
		return false
	}
	n.off, n.instance.Stopped = !on, !on
	if on {
		n.restarted = true
		n.boots++
		n.rebooted = true
	}
	return true
}

// Uninitialized is the taint with which a kubelet registers in a cloud, for the cloud's controller
// to remove.
func Uninitialized() corev1.Taint {
	return corev1.Taint{Key: simulatedcloud.TaintUninitialized, Value: "true", Effect: corev1.TaintEffectNoSchedule}
}

// markUninitialized prepares a Node that is to be registered for the cloud's controller, as the
// kubelet does with --cloud-provider=external and --node-ip.
func (n *Node) markUninitialized(object *corev1.Node) {
	object.Spec.Taints = append(slices.Clone(object.Spec.Taints), Uninitialized())
	object.Annotations[simulatedcloud.AnnotationProvidedIP] = n.Address
}

// isUninitialized reports whether the cloud's controller has to initialize a Node.
func isUninitialized(object *corev1.Node) bool {
	return slices.ContainsFunc(object.Spec.Taints, func(t corev1.Taint) bool { return t.Key == simulatedcloud.TaintUninitialized })
}

// instanceLabels returns the labels that a kubelet adds to a Node that a client created in a cloud:
// nothing initializes it.
func instanceLabels(i *simulatedcloud.Instance) map[string]string {
	return map[string]string{
		corev1.LabelInstanceType: i.Type, corev1.LabelInstanceTypeStable: i.Type,
		corev1.LabelFailureDomainBetaZone: i.Zone, corev1.LabelTopologyZone: i.Zone,
		corev1.LabelFailureDomainBetaRegion: i.Region, corev1.LabelTopologyRegion: i.Region,
	}
}
