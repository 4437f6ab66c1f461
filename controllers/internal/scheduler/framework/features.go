package framework

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/component-helpers/nodedeclaredfeatures"
	"k8s.io/component-helpers/nodedeclaredfeatures/types"
)

// release is Kubernetes' release: pods need not ask for features that all its nodes have.
var release = version.MajorMinor(1, 37)

// requiredFeatures returns the names of the features that the node of a pod must declare (KEP-5328),
// sorted; nil: none.
func requiredFeatures(pod *corev1.Pod) []string {
	all := nodedeclaredfeatures.DefaultFramework
	needs, err := all.InferForPodScheduling(&types.PodInfo{Spec: &pod.Spec}, release)
	if err != nil || needs.IsEmpty() {
		return nil // the only error is the lack of a version
	}
	names, err := all.Unmap(needs)
	if err != nil {
		return nil // the set is one of all
	}
	return names
}

// Declares reports whether the node's status declares the features.
func (n *NodeInfo) Declares(features []string) bool {
	for _, name := range features {
		if !slices.Contains(n.Node.Status.DeclaredFeatures, name) {
			return false
		}
	}
	return true
}
