package plugins

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
)

// The reasons and messages of DynamicResources, in kube-scheduler's words.
const (
	reasonNoDevices      = "cannot allocate all claims"
	reasonClaimElsewhere = "resourceclaim not available on the node"

	messageDeallocated     = "deallocation of ResourceClaim completed"
	messageNoState         = "not found"
	resourceClaimIsPending = "resource claim %s/%s is in the process of being allocated"
)

// Devices holds the inputs of a decision, besides nodes and pods, on a pod that uses resource
// claims (KEP-4381) or extended resources that DeviceClasses back.
type Devices struct {
	// Claims are the pod's claims. Problem is why the pod cannot use them yet; "": it can.
	Claims  []*resourcev1.ResourceClaim
	Problem string
	// Extended are the pod's extended resources that DeviceClasses back; nil: none.
	Extended *Extended
	// Pending reports whether the allocation of a claim is being written for another pod.
	Pending func(claim types.UID) bool
	// HasClass reports whether a DeviceClass exists.
	HasClass func(name string) bool
	// Allocate returns the allocations of the claims for a node, in the order of the claims, or
	// the reason why there are none. An error ends the decision: it is one of the claims or
	// their classes.
	Allocate func(node *corev1.Node, claims []*resourcev1.ResourceClaim) (results []resourcev1.AllocationResult, why string, err error)
	// Published returns the nodes that devices are published for; nil: some are published for nodes that a
	// selector selects, or for all nodes.
	Published func(*framework.Snapshot) framework.NodeSet

	// Now is the time of the decision. BindingTimeout is how long after its allocation the binding
	// conditions of a claim's devices may become true.
	Now            time.Time
	BindingTimeout time.Duration

	// unallocated are the claims that need an allocation.
	unallocated []*resourcev1.ResourceClaim
	// selectors are the nodes of the allocated claims, by the index of the claim; nil: all nodes.
	selectors []*nodeaffinity.NodeSelector
	// failed are the indexes of the allocated claims whose devices cannot be bound: they exclude
	// all nodes. unavailable are the indexes of the allocated claims that excluded a node.
	failed, unavailable map[int]bool
	byNode              map[string]deviceResult
	err                 error
}

// deviceResult is the result of Allocate for a node: the results of the claims without an allocation, and
// last the result of the claim for extended resources, if there is one.
type deviceResult struct {
	results  []resourcev1.AllocationResult
	extended *extendedClaim
}

// DeviceAllocation is a claim that the pod uses, with the allocation that a decision has chosen;
// nil: it was allocated before.
type DeviceAllocation struct {
	Claim  *resourcev1.ResourceClaim
	Result *resourcev1.AllocationResult
	// Mappings are set if the claim is for extended resources: it is to be created.
	Mappings []corev1.ContainerExtendedResourceRequest
}

// conflict returns why no node can run the pod; "": its claims do not exclude all nodes. It must
// be called before filter.
func (d *Devices) conflict() string {
	if d == nil {
		return ""
	}
	if d.Problem != "" {
		return d.Problem
	}
	d.byNode, d.failed, d.unavailable = map[string]deviceResult{}, map[int]bool{}, map[int]bool{}
	d.selectors = make([]*nodeaffinity.NodeSelector, len(d.Claims))
	for i, claim := range d.Claims {
		if allocation := claim.Status.Allocation; allocation != nil {
			if allocation.NodeSelector != nil {
				if d.selectors[i], d.err = nodeaffinity.NewNodeSelector(allocation.NodeSelector); d.err != nil {
					return ""
				}
			}
			d.failed[i] = d.broken(claim)
			continue
		}
		if d.Pending(claim.UID) {
			return fmt.Sprintf(resourceClaimIsPending, claim.Namespace, claim.Name)
		}
		if why := d.missingClass(claim); why != "" {
			return why
		}
		d.unallocated = append(d.unallocated, claim)
	}
	return ""
}

// missingClass returns which class of a claim does not exist; "": all exist.
func (d *Devices) missingClass(claim *resourcev1.ResourceClaim) string {
	check := func(request, class string) string {
		if d.HasClass(class) {
			return ""
		}
		return fmt.Sprintf("request %s: device class %s does not exist", request, class)
	}
	for i := range claim.Spec.Devices.Requests {
		request := &claim.Spec.Devices.Requests[i]
		if request.Exactly != nil {
			if why := check(request.Name, request.Exactly.DeviceClassName); why != "" {
				return why
			}
		}
		for j := range request.FirstAvailable {
			if why := check(request.FirstAvailable[j].Name, request.FirstAvailable[j].DeviceClassName); why != "" {
				return why
			}
		}
	}
	return ""
}

// filter returns why the pod's claims exclude a node; nil: they do not. What other pods do on the
// node does not matter, so preemption does not help.
func (d *Devices) filter(n *framework.NodeInfo) *rejection {
	if d == nil {
		return nil
	}
	if d.err != nil {
		return fixed.noDevices
	}
	extended, r := d.Extended.on(n)
	if r != nil {
		return r
	}
	if r := d.allocate(n.Node, extended); r != nil {
		return r // as in kube-scheduler, claims that are elsewhere do not count then
	}
	elsewhere := false
	for i, selector := range d.selectors {
		if selector != nil && !selector.Match(n.Node) || d.failed[i] {
			d.unavailable[i], elsewhere = true, true
		}
	}
	if elsewhere {
		return fixed.claimElsewhere
	}
	return nil
}

// allocate looks for devices on a node, once for each node that has some.
func (d *Devices) allocate(node *corev1.Node, extended *extendedClaim) *rejection {
	claims := d.unallocated
	if extended != nil {
		claims = append(slices.Clip(claims), extended.claim)
	}
	if len(claims) == 0 {
		return nil
	}
	if _, found := d.byNode[node.Name]; found {
		return nil
	}
	results, why, err := d.Allocate(node, claims)
	switch {
	case err != nil:
		d.err = err
		return fixed.noDevices
	case why != "":
		return &rejection{plugin: DynamicResources, reasons: []string{why}, final: true, devices: true}
	case len(results) != len(claims):
		return fixed.noDevices
	}
	d.byNode[node.Name] = deviceResult{results: results, extended: extended}
	return nil
}

// On returns the pod's claims, with their allocations for a node that Decide has chosen, and last the claim
// for extended resources, if the node needs one.
func (d *Devices) On(node string) []DeviceAllocation {
	found := d.byNode[node]
	results := found.results
	all := make([]DeviceAllocation, len(d.Claims))
	for i, claim := range d.Claims {
		all[i].Claim = claim
		if at := slices.Index(d.unallocated, claim); at >= 0 && at < len(results) {
			all[i].Result = &results[at]
		}
	}
	if found.extended != nil {
		all = append(all, DeviceAllocation{Claim: found.extended.claim, Result: &results[len(d.unallocated)], Mappings: found.extended.mappings})
	}
	return all
}

// Empty reports whether there are neither claims nor extended resources to be bound.
func (d *Devices) Empty() bool { return d == nil || len(d.Claims) == 0 && d.Extended == nil }

// Idle returns an allocated claim that excludes nodes and that no other pod has reserved, so that
// the loss of its allocation may let the pod in, or the claim that an earlier attempt has left; nil: there
// is none. It adds the message of kube-scheduler's PostFilter to the diagnosis of the decision.
func (d *Devices) Idle(pod *corev1.Pod, diagnosis *Diagnosis) *resourcev1.ResourceClaim {
	if d == nil || diagnosis.Conflict != "" {
		return nil
	}
	for i, claim := range d.Claims {
		if reserved := claim.Status.ReservedFor; d.unavailable[i] && (len(reserved) == 0 || len(reserved) == 1 && reserved[0].UID == pod.UID) {
			diagnosis.Deallocation = messageDeallocated
			return claim
		}
	}
	if d.Extended != nil && d.Extended.Left != nil {
		diagnosis.Deallocation = messageDeleted
		return d.Extended.Left
	}
	return nil
}

// failure returns the error that ended the decision.
func (d *Devices) failure() error {
	if d == nil || d.err == nil {
		return nil
	}
	return fmt.Errorf("running \"DynamicResources\" filter plugin: %w", d.err)
}
