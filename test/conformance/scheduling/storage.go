package scheduling

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	storagehelpers "k8s.io/component-helpers/storage/volume"
	"k8s.io/utils/ptr"
)

// The drivers and classes of volumes.
const (
	driver       = "csi.example.com"
	smallDriver  = "small.example.com" // publishes its capacity
	immediate    = "immediate"
	waiting      = "waiting"
	zonal        = "zonal" // only in zone a
	local        = "local" // of volumes that are made by hand
	small        = "small"
	boundByOwner = "yes"
)

func (g *generator) addStorage() {
	wait, now := storagev1.VolumeBindingWaitForFirstConsumer, storagev1.VolumeBindingImmediate
	class := func(name, provisioner string, mode storagev1.VolumeBindingMode) *storagev1.StorageClass {
		c := &storagev1.StorageClass{
			ObjectMeta: g.meta("", name), Provisioner: provisioner, VolumeBindingMode: &mode, ReclaimPolicy: ptr.To(corev1.PersistentVolumeReclaimDelete),
		}
		g.add(c)
		return c
	}
	class(immediate, driver, now)
	class(waiting, driver, wait)
	class(small, smallDriver, wait)
	class(local, storagehelpers.NotSupportedProvisioner, wait)
	class(zonal, driver, wait).AllowedTopologies = []corev1.TopologySelectorTerm{{
		MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: corev1.LabelTopologyZone, Values: []string{"a"}}},
	}}
	g.add(&storagev1.CSIDriver{ObjectMeta: g.meta("", driver), Spec: storagev1.CSIDriverSpec{AttachRequired: ptr.To(true), StorageCapacity: ptr.To(false)}})
	g.add(&storagev1.CSIDriver{ObjectMeta: g.meta("", smallDriver), Spec: storagev1.CSIDriverSpec{AttachRequired: ptr.To(true), StorageCapacity: ptr.To(true)}})
	for _, n := range g.nodes {
		g.addNodeStorage(n)
	}
	for _, namespace := range g.namespaces {
		for range 3 + g.IntN(4) {
			g.addClaim(namespace)
		}
	}
}

// addNodeStorage adds what drivers publish for a node, and its local volumes.
func (g *generator) addNodeStorage(n *corev1.Node) {
	if g.chance(85) {
		c := &storagev1.CSINode{ObjectMeta: g.meta("", n.Name)}
		c.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: n.Name, UID: n.UID}}
		for _, name := range []string{driver, smallDriver} {
			d := storagev1.CSINodeDriver{Name: name, NodeID: n.Name}
			if g.chance(70) {
				d.Allocatable = &storagev1.VolumeNodeResources{Count: ptr.To(pick(g, int32(1), 2, 4))}
			}
			c.Spec.Drivers = append(c.Spec.Drivers, d)
		}
		g.add(c)
	}
	if g.chance(70) {
		c := &storagev1.CSIStorageCapacity{ObjectMeta: g.meta("kube-system", "capacity-"+n.Name), StorageClassName: small}
		if g.chance(90) {
			c.Capacity = ptr.To(resource.MustParse(pick(g, "1Gi", "10Gi")))
		}
		if c.Capacity != nil && g.chance(30) { // without a capacity, upstream's score dereferences nil
			c.MaximumVolumeSize = ptr.To(resource.MustParse(pick(g, "1Gi", "5Gi")))
		}
		if g.chance(90) {
			c.NodeTopology = &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelHostname: n.Name}}
		}
		g.add(c)
	}
	for i := range g.IntN(3) {
		v := g.volume(fmt.Sprintf("local-%s-%d", n.Name, i), local)
		v.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: "/data"}}
		v.Spec.NodeAffinity = onNodesWith(corev1.LabelHostname, n.Name)
		g.add(v)
	}
}

func onNodesWith(key string, values ...string) *corev1.VolumeNodeAffinity {
	return &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}},
	}}}}
}

func (g *generator) volume(name, class string) *corev1.PersistentVolume {
	v := &corev1.PersistentVolume{ObjectMeta: g.meta("", name), Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeAvailable}}
	v.Spec.StorageClassName = class
	v.Spec.Capacity = quantities("storage", pick(g, "1Gi", "5Gi", "20Gi"))
	v.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	v.Spec.VolumeMode = ptr.To(corev1.PersistentVolumeFilesystem)
	v.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain
	return v
}

// addClaim adds a claim in one of the states that claims have. Upstream's VolumeRestrictions confuses claims of
// several namespaces that have one name, when preemption removes pods: no two claims do.
func (g *generator) addClaim(namespace string) {
	c := g.claim(namespace, fmt.Sprintf("%s-%d", namespace, len(g.claims[namespace])))
	g.claims[namespace] = append(g.claims[namespace], c.Name)
	if c.Spec.AccessModes[0] == corev1.ReadWriteOncePod {
		g.exclusive[c.Name] = true
	}
	g.add(c)
}

func (g *generator) claim(namespace, name string) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{ObjectMeta: g.meta(namespace, name), Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending}}
	c.Annotations = map[string]string{}
	c.Spec.StorageClassName = ptr.To(pick(g, immediate, waiting, waiting, zonal, local, local, small))
	c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{pick(g, corev1.ReadWriteOnce, corev1.ReadWriteOnce, corev1.ReadWriteOnce, corev1.ReadWriteOncePod)}
	c.Spec.VolumeMode = ptr.To(corev1.PersistentVolumeFilesystem)
	c.Spec.Resources.Requests = quantities("storage", pick(g, "1Gi", "2Gi", "8Gi"))
	switch g.IntN(10) {
	case 0: // the controller has not bound it yet, or never will
		if g.chance(30) {
			c.Spec.StorageClassName = ptr.To("missing")
		}
	case 1:
		c.Annotations[storagehelpers.AnnSelectedNode] = pick(g, g.nodes...).Name
	case 2:
		if g.chance(50) {
			c.Spec.VolumeName, c.Status.Phase = "gone", corev1.ClaimLost
			c.Annotations[storagehelpers.AnnBindCompleted] = boundByOwner
		} else {
			c.DeletionTimestamp, c.Finalizers = ptr.To(c.CreationTimestamp), []string{"kubernetes.io/pvc-protection"}
		}
	case 3, 4:
	default:
		g.bind(c)
	}
	return c
}

// bind adds the volume of a claim.
func (g *generator) bind(c *corev1.PersistentVolumeClaim) {
	v := g.volume("pv-"+c.Namespace+"-"+c.Name, *c.Spec.StorageClassName)
	v.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: pick(g, driver, driver, smallDriver), VolumeHandle: v.Name}}
	v.Spec.AccessModes, v.Status.Phase = c.Spec.AccessModes, corev1.VolumeBound
	v.Spec.ClaimRef = &corev1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: c.Namespace, Name: c.Name, UID: c.UID}
	if g.chance(40) {
		v.Spec.NodeAffinity = onNodesWith(corev1.LabelTopologyZone, "a", pick(g, "b", "c"))
	}
	if g.chance(40) {
		v.Labels[corev1.LabelTopologyZone] = pick(g, "a", "b", "a__b")
	}
	if g.chance(10) {
		v.Labels[corev1.LabelFailureDomainBetaRegion] = pick(g, "r", "s")
	}
	c.Spec.VolumeName, c.Status.Phase, c.Status.AccessModes = v.Name, corev1.ClaimBound, c.Spec.AccessModes
	c.Annotations[storagehelpers.AnnBindCompleted] = boundByOwner
	c.Status.Capacity = v.Spec.Capacity
	if g.chance(5) {
		return
	}
	g.add(v)
	if g.chance(30) {
		g.add(&storagev1.VolumeAttachment{ObjectMeta: g.meta("", "attachment-"+v.Name), Spec: storagev1.VolumeAttachmentSpec{
			Attacher: v.Spec.CSI.Driver, NodeName: pick(g, g.nodes...).Name, Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: ptr.To(v.Name)},
		}})
	}
}

func (g *generator) addVolumes(p *corev1.Pod) {
	for i := range 1 + g.IntN(2) {
		name := fmt.Sprintf("v%d", i)
		v := corev1.Volume{Name: name}
		switch claims := g.claims[p.Namespace]; {
		case g.chance(8):
			v.Ephemeral = &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{}}
			if g.chance(80) {
				c := g.claim(p.Namespace, p.Name+"-"+name)
				c.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: p.Name, UID: p.UID, Controller: ptr.To(p.Spec.NodeName != "" || g.chance(90))}}
				v.Ephemeral.VolumeClaimTemplate.Spec = c.Spec
				g.add(c)
			}
		case g.chance(4):
			v.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "missing"}
		case g.chance(10):
			v.EmptyDir = &corev1.EmptyDirVolumeSource{}
		default:
			claim := pick(g, claims...)
			if free, exclusive := g.exclusive[claim]; exclusive && p.Spec.NodeName != "" {
				if !free {
					continue // one pod on a node has the claim already
				}
				g.exclusive[claim] = false
			}
			v.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}
		}
		p.Spec.Volumes = append(p.Spec.Volumes, v)
	}
}
