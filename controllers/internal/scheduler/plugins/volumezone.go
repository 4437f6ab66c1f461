package plugins

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// zoneLabels are the labels of volumes that must agree with the labels of their nodes. current is
// the node's label that replaces a deprecated one.
var zoneLabels = [...]struct{ label, current string }{
	{corev1.LabelFailureDomainBetaZone, corev1.LabelTopologyZone},
	{corev1.LabelFailureDomainBetaRegion, corev1.LabelTopologyRegion},
	{corev1.LabelTopologyZone, corev1.LabelTopologyZone},
	{corev1.LabelTopologyRegion, corev1.LabelTopologyRegion},
}

// missingVolume is the conflict of VolumeZone: a volume whose zone is not known, as it does not exist.
func (v *Volumes) missingVolume() string {
	for i := range v.Claims {
		if c := &v.Claims[i]; c.Object != nil && !c.Ephemeral && c.Object.Spec.VolumeName != "" && c.Volume == nil {
			return fmt.Sprintf("persistentvolume %q not found", c.Object.Spec.VolumeName)
		}
	}
	return ""
}

// inZone reports whether a node is in the zones and regions of the volumes of the pod's bound
// claims. A node without any of these labels is in all of them. As in kube-scheduler, the claims of
// ephemeral volumes do not count: VolumeBinding compares the node affinity of their volumes.
func (v *Volumes) inZone(node *corev1.Node) bool {
	labelled := false
	for _, zone := range zoneLabels {
		_, has := node.Labels[zone.label]
		labelled = labelled || has
	}
	if !labelled {
		return true
	}
	for i := range v.Claims {
		if volume := v.Claims[i].Volume; volume != nil && !v.Claims[i].Ephemeral && !agree(volume.Labels, node.Labels) {
			return false
		}
	}
	return true
}

// isZoned reports whether a volume has labels of zones or regions.
func isZoned(volume *corev1.PersistentVolume) bool {
	for _, zone := range zoneLabels {
		if _, has := volume.Labels[zone.label]; has {
			return true
		}
	}
	return false
}

func agree(volume, node map[string]string) bool {
	for _, zone := range zoneLabels {
		values, ok := volume[zone.label]
		if !ok {
			continue
		}
		value, has := node[zone.label]
		if !has {
			value, has = node[zone.current]
		}
		// A volume in several zones has their names, joined by two underscores.
		if !has || !slices.Contains(strings.Split(values, "__"), value) {
			return false
		}
	}
	return true
}
