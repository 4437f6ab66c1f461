package plugins

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	storagehelpers "k8s.io/component-helpers/storage/volume"
)

// VolumePlan holds the writes that bind the claims of a pod for a node.
type VolumePlan struct {
	Bind []VolumeForClaim
	// Provision are the claims for which volumes must be provisioned.
	Provision []*corev1.PersistentVolumeClaim
	// capacities are the node's storage capacities for the claims of Provision; nil: they are not known.
	capacities []*storagev1.CSIStorageCapacity
}

// VolumeForClaim is a volume for a claim.
type VolumeForClaim struct {
	Volume *corev1.PersistentVolume
	Claim  *corev1.PersistentVolumeClaim
}

// Empty reports whether all claims are bound.
func (p VolumePlan) Empty() bool { return len(p.Bind)+len(p.Provision) == 0 }

// PlanFor returns the plan for a node that Decide has chosen.
func (v *Volumes) PlanFor(node *corev1.Node) VolumePlan {
	plan, _ := v.plan(node)
	return plan
}

// plan returns the plan for a node, or why the node cannot be used.
func (v *Volumes) plan(node *corev1.Node) (VolumePlan, *rejection) {
	var unbound []*Claim
	var reasons []string
	for i := range v.Claims {
		c := &v.Claims[i]
		switch {
		case !Bound(c.Object):
			unbound = append(unbound, c)
		case len(reasons) > 0: // the first of the bound claims that does not suit the node counts
		case c.Volume == nil:
			reasons = append(reasons, reasonVolumeMissing)
		case !v.suits(c, node):
			reasons = append(reasons, reasonVolumeAffinity)
		}
	}
	plan, why := v.planUnbound(unbound, node)
	if why != "" {
		reasons = append(reasons, why)
	}
	if len(reasons) == 0 {
		return plan, nil
	}
	slices.Sort(reasons)
	return VolumePlan{}, &rejection{plugin: VolumeBinding, reasons: slices.Compact(reasons), final: true}
}

// suits reports whether the node affinity of the claim's volume allows a node, by its labels alone, as
// storagehelpers.CheckNodeAffinity does for a single node. It parses the affinity once for all nodes.
func (v *Volumes) suits(c *Claim, node *corev1.Node) bool {
	affinity := c.Volume.Spec.NodeAffinity
	if affinity == nil || affinity.Required == nil {
		return true
	}
	if c.affinity == nil {
		c.affinity = nodeaffinity.NewLazyErrorNodeSelector(affinity.Required)
	}
	v.labelled.Labels = node.Labels
	matches, err := c.affinity.Match(&v.labelled)
	return matches && err == nil
}

// planUnbound finds volumes for unbound claims, the smallest claim first. Those without a
// volume are to be provisioned, first those whose node was selected before. why is the reason if a claim can
// have no volume on the node.
func (v *Volumes) planUnbound(claims []*Claim, node *corev1.Node) (plan VolumePlan, why string) {
	var provision, open []*Claim
	for _, c := range claims {
		switch c.Object.Annotations[storagehelpers.AnnSelectedNode] {
		case "":
			open = append(open, c)
		case node.Name:
			provision = append(provision, c)
		default:
			return plan, reasonNoVolumes
		}
	}
	slices.SortStableFunc(open, func(a, b *Claim) int {
		size := a.Object.Spec.Resources.Requests[corev1.ResourceStorage]
		return size.Cmp(b.Object.Spec.Resources.Requests[corev1.ResourceStorage])
	})
	taken := map[string]*corev1.PersistentVolume{}
	for _, c := range open {
		volume, err := storagehelpers.FindMatchingVolume(c.Object, v.freeIn(c.Class.Name), node, taken, true, true)
		if err != nil || volume == nil { // an error means an invalid selector, which matches nothing
			provision = append(provision, c)
			continue
		}
		taken[volume.Name] = volume
		plan.Bind = append(plan.Bind, VolumeForClaim{volume, c.Object})
	}
	for _, c := range provision {
		if !c.provisionable(node) {
			return plan, reasonNoVolumes
		}
		capacity, enough := v.capacity(c, node)
		if !enough {
			return plan, reasonNoSpace
		}
		plan.Provision = append(plan.Provision, c.Object)
		plan.capacities = append(plan.capacities, capacity)
	}
	return plan, ""
}

func (v *Volumes) freeIn(class string) []*corev1.PersistentVolume {
	if v.free == nil {
		v.free = map[string][]*corev1.PersistentVolume{}
	}
	volumes, known := v.free[class]
	if !known {
		volumes = v.Free(class)
		v.free[class] = volumes
	}
	return volumes
}

// provisionable reports whether the claim's class has a provisioner that may create a volume
// for the node.
func (c *Claim) provisionable(node *corev1.Node) bool {
	if c.Class.Provisioner == "" || c.Class.Provisioner == storagehelpers.NotSupportedProvisioner {
		return false
	}
	return len(c.Class.AllowedTopologies) == 0 || slices.ContainsFunc(c.Class.AllowedTopologies, func(term corev1.TopologySelectorTerm) bool {
		return len(term.MatchLabelExpressions) > 0 && !slices.ContainsFunc(term.MatchLabelExpressions, func(e corev1.TopologySelectorLabelRequirement) bool {
			value, has := node.Labels[e.Key]
			return !has || !slices.Contains(e.Values, value)
		})
	})
}
