package nodes

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// statement has the facts that an existing Node states about its machine. The simulation keeps
// them and fills in the rest.
type statement struct {
	spec Spec
	// address is the node's InternalIP and podRange its first IPv4 range of pod addresses. They
	// are not valid if the Node states none that is usable.
	address  netip.Addr
	podRange netip.Prefix
	// statesRange means that the Node has pod ranges, which the API does not allow to change.
	statesRange bool
	addresses   []corev1.NodeAddress
	info        corev1.NodeSystemInfo
	images      []corev1.ContainerImage
	// networkAt is when the network of the machine is ready; zero: from the beginning.
	networkAt time.Time
	// troubles are the pressures that a client states. They last until SetNodeCondition ends them.
	// pressed are those that an earlier kubelet reported, with the times of the reports.
	troubles map[corev1.NodeConditionType]bool
	pressed  map[corev1.NodeConditionType]time.Time
	// notReady is the condition Ready of a Node that states that it is not, and not only until its
	// network is ready.
	notReady *corev1.NodeCondition
}

func statementOf(object *corev1.Node) statement {
	s := statement{
		spec:        specOf(object),
		statesRange: object.Spec.PodCIDR != "",
		addresses:   slices.Clone(object.Status.Addresses),
		info:        object.Status.NodeInfo,
		images:      object.Status.Images,
		networkAt:   readyAt(object.Annotations, object.CreationTimestamp.Time),
	}
	s.troubles, s.pressed = pressuresOf(object)
	if s.networkAt.IsZero() {
		s.notReady = notReadyOf(object)
	}
	s.info.Architecture = cmp.Or(s.info.Architecture, object.Labels[corev1.LabelArchStable])
	s.info.OperatingSystem = cmp.Or(s.info.OperatingSystem, object.Labels[corev1.LabelOSStable])
	for _, a := range s.addresses {
		if ip, err := netip.ParseAddr(a.Address); a.Type == corev1.NodeInternalIP && err == nil && !s.address.IsValid() {
			s.address = embedded(nodeBase, 12, ip)
		}
	}
	s.podRange = s.podRangeOf(append([]string{object.Spec.PodCIDR}, object.Spec.PodCIDRs...))
	return s
}

// podRangeOf returns the first IPv4 range that is usable, or the one from which an IPv6 range follows.
func (s *statement) podRangeOf(texts []string) netip.Prefix {
	var block netip.Prefix
	for _, text := range texts {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			continue
		}
		if p.Addr().Is4() && p.Bits() <= maxRangePrefix {
			return p.Masked()
		}
		if from, ok := blockOf(p, s.rangePods()); ok && !block.IsValid() {
			block = from
		}
	}
	return block
}

// pressuresOf returns the pressures that a Node reports: those that a client states, and those
// with a kubelet's reason. Ready follows from the simulation instead.
func pressuresOf(object *corev1.Node) (under map[corev1.NodeConditionType]bool, pressed map[corev1.NodeConditionType]time.Time) {
	for i := range object.Status.Conditions {
		c := &object.Status.Conditions[i]
		switch c.Type {
		case corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure:
			if c.Status != corev1.ConditionTrue {
				continue
			}
			if ofKubelet(c) {
				if pressed == nil {
					pressed = map[corev1.NodeConditionType]time.Time{}
				}
				pressed[c.Type] = c.LastHeartbeatTime.Time
				continue
			}
			if under == nil {
				under = map[corev1.NodeConditionType]bool{}
			}
			under[c.Type] = true
		}
	}
	return under, pressed
}

// notReadyOf returns the condition Ready of a Node if it is not true; nil if it is, or is not stated.
func notReadyOf(object *corev1.Node) *corev1.NodeCondition {
	for i := range object.Status.Conditions {
		if c := &object.Status.Conditions[i]; c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
			return c
		}
	}
	return nil
}

// ofKubelet reports whether a bad condition has the reason and the heartbeat that kubelets give.
func ofKubelet(c *corev1.NodeCondition) bool {
	for _, k := range kubeletConditions() {
		if k.kind == c.Type {
			return k.bad.reason == c.Reason && !c.LastHeartbeatTime.IsZero()
		}
	}
	return false
}

// after fills in the addresses of the lost node of the same name, because pods may still have
// addresses of its range.
func (s *statement) after(old *Node) {
	if !s.address.IsValid() {
		s.address = netip.MustParseAddr(old.Address)
	}
	if !s.statesRange && old.block.Addr().Is4() && s.rangePods() <= 1<<(32-old.block.Bits())-3 {
		s.podRange = old.block
	}
}

// maxRangePrefix is the longest prefix that leaves an address for a pod.
const maxRangePrefix = 30

// anyPods is the number of pod addresses for a node whose capacity exceeds any range, such as
// kwok's 1M, which stands for no limit.
const anyPods = 1000

// rangePods returns the number of pods that need addresses.
func (s *statement) rangePods() int64 {
	capacity := s.spec.capacity()[corev1.ResourcePods]
	if pods := capacity.Value(); pods <= 1<<maxRangeBits-3 {
		return pods
	}
	return anyPods
}

// specOf returns a Node's capacity of the resources that kubelets report. Other resources, such
// as devices of plugins, stay in the Node's status, which their owners update.
func specOf(object *corev1.Node) Spec {
	spec := Spec{
		Name:        object.Name,
		Capacity:    kubeletResources(object.Status.Capacity),
		Allocatable: kubeletResources(object.Status.Allocatable),
	}
	for name, quantity := range spec.Allocatable {
		if _, stated := spec.Capacity[name]; !stated {
			spec.Capacity[name] = quantity
		}
	}
	return spec
}

func kubeletResources(amounts corev1.ResourceList) corev1.ResourceList {
	kept := corev1.ResourceList{}
	for name, quantity := range amounts {
		if kubeletReports(name) {
			kept[name] = quantity
		}
	}
	return kept
}

func kubeletReports(name corev1.ResourceName) bool {
	switch name {
	case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage, corev1.ResourcePods:
		return true
	}
	return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}

// over returns the spec overridden by another one.
func (s Spec) over(by Spec) Spec {
	s.Capacity, s.Allocatable = merged(s.Capacity, by.Capacity), merged(s.Allocatable, by.Allocatable)
	return s
}
