package decide

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// topology returns the node affinity of a volume of a class; nil: all nodes can use it. With a
// selected node it requires that node's values of the labels that are topology keys of the
// class; without one it requires the topologies that the class allows.
func topology(class *storagev1.StorageClass, node *corev1.Node) (*corev1.VolumeNodeAffinity, error) {
	if node == nil {
		return allowed(class.AllowedTopologies), nil
	}
	var term corev1.NodeSelectorTerm
	for _, key := range topologyKeys(class) {
		value, ok := node.Labels[key]
		if !ok {
			return nil, fmt.Errorf("node %s has no label %s, which is a topology key of StorageClass %s", node.Name, key, class.Name)
		}
		term.MatchExpressions = append(term.MatchExpressions, corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}})
	}
	if len(term.MatchExpressions) == 0 {
		return nil, nil
	}
	return affinityOf(term), nil
}

func topologyKeys(class *storagev1.StorageClass) []string {
	var keys []string
	if key := class.Parameters[TopologyParameter]; key != "" {
		keys = append(keys, key)
	}
	for _, term := range class.AllowedTopologies {
		for _, expression := range term.MatchLabelExpressions {
			keys = append(keys, expression.Key)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

func allowed(terms []corev1.TopologySelectorTerm) *corev1.VolumeNodeAffinity {
	var all []corev1.NodeSelectorTerm
	for _, term := range terms {
		var of corev1.NodeSelectorTerm
		for _, expression := range term.MatchLabelExpressions {
			of.MatchExpressions = append(of.MatchExpressions, corev1.NodeSelectorRequirement{Key: expression.Key, Operator: corev1.NodeSelectorOpIn, Values: expression.Values})
		}
		all = append(all, of)
	}
	if len(all) == 0 {
		return nil
	}
	return affinityOf(all...)
}

func affinityOf(terms ...corev1.NodeSelectorTerm) *corev1.VolumeNodeAffinity {
	return &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: terms}}
}
