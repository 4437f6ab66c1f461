package nodes

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/kubeletsim/internal/eviction"
)

// Shortage is a kubelet's own state of its node's shortages. No lock guards it: only the worker
// that holds the node's key for pressure uses it.
type Shortage struct {
	// State is the state at the last look, and Plan what comes next.
	State eviction.State
	Plan  eviction.Plan
	// Policy are the rules of the configuration that Configuration returns, once it is read.
	Policy *eviction.Policy
	// CollectionFailed means that the last collection of images did not free enough.
	CollectionFailed bool
	// Boots counts the starts of the machine that State has seen.
	Boots int
}

// pressure is the part of a node's shortages that other workers read. The node's mutex guards it.
type pressure struct {
	// demanding are the pods with running containers that declare what they use.
	demanding map[types.UID]bool
	// storing are the pods with running containers that have written files, and limits for that.
	storing map[types.UID]bool
	// conditions are the conditions that the node's shortages cause, sorted.
	conditions    []corev1.NodeConditionType
	configuration eviction.Configuration
	configured    bool
}

// Demands reports whether a node can run short of anything, or is: whether any pod declares what
// it uses or stores files within limits, or the node is under pressure.
func (n *Node) Demands() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.pressure.demanding) > 0 || len(n.pressure.storing) > 0 || len(n.pressure.conditions) > 0
}

// SetStoring records whether a pod has running containers that have written files, and limits for
// that. It returns whether the node did not know that it has.
func (n *Node) SetStoring(pod types.UID, storing bool) (news bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	news = storing && !n.pressure.storing[pod]
	n.pressure.storing = setMember(n.pressure.storing, pod, storing)
	return news
}

// Storing reports whether any pod stores files within limits.
func (n *Node) Storing() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.pressure.storing) > 0
}

// setMember adds a pod to a set, which may be nil, or removes it.
func setMember(set map[types.UID]bool, pod types.UID, member bool) map[types.UID]bool {
	if !member {
		delete(set, pod)
		return set
	}
	if set == nil {
		set = map[types.UID]bool{}
	}
	set[pod] = true
	return set
}

// SetDemanding records whether a pod has running containers that declare what they use.
func (n *Node) SetDemanding(pod types.UID, demanding bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.pressure.demanding = setMember(n.pressure.demanding, pod, demanding)
}

// Demanding reports whether any pod declares what it uses.
func (n *Node) Demanding() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.pressure.demanding) > 0
}

// SetPressures sets the conditions that the node's shortages cause, sorted, and reports whether
// they have changed.
func (n *Node) SetPressures(conditions []corev1.NodeConditionType) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if slices.Equal(n.pressure.conditions, conditions) {
		return false
	}
	n.pressure.conditions = conditions
	n.changed = true
	return true
}

// Pressures returns the conditions that the node's shortages cause.
func (n *Node) Pressures() []corev1.NodeConditionType {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.pressure.conditions
}

// Configure records the configuration of evictions from a Node, or without a Node from the node's
// spec, and reports whether it is new.
func (n *Node) Configure(object *corev1.Node) (eviction.Configuration, bool) {
	annotations := n.spec.Annotations
	if object != nil {
		annotations = object.Annotations
	}
	c := eviction.ConfigurationOf(annotations)
	n.mu.Lock()
	defer n.mu.Unlock()
	changed := !n.pressure.configured || n.pressure.configuration != c
	n.pressure.configuration, n.pressure.configured = c, true
	return c, changed
}

// Reconfigured reports whether a Node has another configuration of evictions than the one that
// was recorded.
func (n *Node) Reconfigured(object *corev1.Node) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.pressure.configured && n.pressure.configuration != eviction.ConfigurationOf(object.Annotations)
}

// Capacity returns what the machine has.
func (n *Node) Capacity() corev1.ResourceList { return n.spec.capacity() }

// BootCount counts the restarts of the machine.
func (n *Node) BootCount() int { return n.bootCount() }

// resume takes over the pressures that an earlier kubelet reported, with the times of the reports.
func (n *Node) resume(pressed map[corev1.NodeConditionType]time.Time) {
	if len(pressed) == 0 {
		return
	}
	n.State = eviction.Resume(pressed)
	n.pressure.conditions = slices.Sorted(maps.Keys(pressed))
}
