package plugins

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/component-helpers/storage/ephemeral"
	storagehelpers "k8s.io/component-helpers/storage/volume"

	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
)

// The reasons of the volume plugins, in kube-scheduler's words.
const (
	reasonUnboundImmediate = "pod has unbound immediate PersistentVolumeClaims"
	reasonVolumeMissing    = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
	reasonVolumeAffinity   = "node(s) didn't match PersistentVolume's node affinity"
	reasonNoVolumes        = "node(s) didn't find available persistent volumes to bind"
	reasonVolumeZone       = "node(s) had no available volume zone"
	reasonExclusive        = "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
	reasonTooManyVolumes   = "node(s) exceed max volume count"
	reasonNoDriver         = "%s CSI driver is not installed on the node"
	messageNoClaim         = "persistentvolumeclaim %q not found"
	reasonNoSpace          = "node(s) did not have enough free storage"
)

// Volumes holds the inputs of a decision, besides nodes and pods, on a pod that uses claims.
type Volumes struct {
	// Claims are the pod's claims, in the order of its volumes.
	Claims []Claim
	// Free returns the volumes of a class that the pod's claims may be bound to, sorted by name:
	// the volumes without a claim, and the volumes that are reserved for one of the claims.
	Free func(class string) []*corev1.PersistentVolume
	// Limits returns how many volumes of each CSI driver a node can have, by its CSINode; nil: any
	// number.
	Limits func(node string) map[string]int32
	// Required are the CSI drivers of the pod's volumes that keep it from nodes where they are not installed, and
	// Installed reports whether a node's CSINode has one.
	Required  []string
	Installed func(node, driver string) bool
	// Attached returns the CSI volumes that VolumeAttachments name for a node; nil: none.
	Attached func(node string) []CSIVolume
	// CSI returns the volume of a claim, which need not exist yet; its driver is "" if that is
	// unknown, or not a CSI driver.
	CSI func(claim types.NamespacedName) CSIVolume
	// Capacities returns the capacities that the driver of a class publishes for it; checked is
	// false if it publishes none. Nil: no driver does.
	Capacities func(class *storagev1.StorageClass) (published []*storagev1.CSIStorageCapacity, checked bool)

	free map[string][]*corev1.PersistentVolume
	// labelled is the node that suits compares.
	labelled corev1.Node
	// allowed are, if settled is set, exactly the nodes that filter allows.
	allowed framework.NodeSet
	settled bool
}

// Claim is a claim that the pod uses.
type Claim struct {
	framework.PodClaim
	// Object is the claim; nil: it does not exist. Its selected node includes one that the
	// scheduler has chosen and not written yet.
	Object *corev1.PersistentVolumeClaim
	// Volume is the volume that the claim names, and Class the claim's class; nil: it names
	// none, or one that does not exist.
	Volume *corev1.PersistentVolume
	Class  *storagev1.StorageClass

	// affinity is the volume's, once a node was compared with it.
	affinity *nodeaffinity.LazyErrorNodeSelector
}

// Bound reports whether a claim is bound to a volume completely.
func Bound(claim *corev1.PersistentVolumeClaim) bool {
	return claim.Spec.VolumeName != "" && metav1.HasAnnotation(claim.ObjectMeta, storagehelpers.AnnBindCompleted)
}

// delayed reports whether the scheduler decides when the claim is bound.
func (c *Claim) delayed() bool {
	return c.Object.Spec.VolumeName == "" && c.Class != nil && c.Class.VolumeBindingMode != nil &&
		*c.Class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
}

// conflict returns why no node can run the pod; "": its claims do not exclude all nodes. The plugins look in
// the order of kube-scheduler's default profile.
func (v *Volumes) conflict(pod *corev1.Pod, p *Profile) (why string) {
	if p.restrictions {
		why = v.missingClaim()
	}
	if why == "" && p.binding {
		why = v.bindingConflict(pod)
	}
	if why == "" && p.zone {
		why = v.missingVolume()
	}
	return why
}

// missingClaim is the conflict of VolumeRestrictions, which must know the access modes of claims. It does not
// look at ephemeral volumes.
func (v *Volumes) missingClaim() string {
	for i := range v.Claims {
		if c := &v.Claims[i]; c.Object == nil && !c.Ephemeral {
			return fmt.Sprintf(messageNoClaim, c.Name)
		}
	}
	return ""
}

// bindingConflict is the conflict of VolumeBinding.
func (v *Volumes) bindingConflict(pod *corev1.Pod) string {
	for i := range v.Claims {
		if why := v.Claims[i].problem(pod); why != "" {
			return why
		}
	}
	if slices.ContainsFunc(v.Claims, func(c Claim) bool { return !Bound(c.Object) && !c.delayed() }) {
		return reasonUnboundImmediate
	}
	return ""
}

// problem returns why the pod cannot use the claim, whatever its volume; "": it can.
func (c *Claim) problem(pod *corev1.Pod) string {
	claim := c.Object
	switch {
	case claim == nil && c.Ephemeral:
		return fmt.Sprintf("waiting for ephemeral volume controller to create the persistentvolumeclaim %q", c.Name)
	case claim == nil:
		return fmt.Sprintf(messageNoClaim, c.Name)
	case claim.Status.Phase == corev1.ClaimLost:
		return fmt.Sprintf("persistentvolumeclaim %q bound to non-existent persistentvolume %q", c.Name, claim.Spec.VolumeName)
	case claim.DeletionTimestamp != nil:
		return fmt.Sprintf("persistentvolumeclaim %q is being deleted", c.Name)
	case c.Ephemeral:
		if err := ephemeral.VolumeIsForPod(pod, claim); err != nil {
			return err.Error()
		}
	}
	return ""
}

// filter returns why the pod's volumes exclude the node at the index; nil: they do not.
func (v *Volumes) filter(node *corev1.Node, index int, p *Profile) *rejection {
	if v.settled && (v.allowed == nil || v.allowed.Has(index)) {
		return nil
	}
	if p.binding {
		if _, r := v.plan(node); r != nil {
			return r
		}
	}
	if p.zone && !v.inZone(node) {
		return fixed.volumeZone
	}
	return nil
}
