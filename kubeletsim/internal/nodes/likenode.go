package nodes

import (
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SpecLike describes nodes like an existing one, without the values that are unique to that Node or follow
// from its conditions.
func SpecLike(node *corev1.Node) Spec {
	spec := Spec{
		Labels:   maps.Clone(node.Labels),
		Capacity: node.Status.Capacity.DeepCopy(), Allocatable: node.Status.Allocatable.DeepCopy(),
	}
	delete(spec.Labels, corev1.LabelHostname)
	for key, value := range labelsFor(node.Name, &node.Status.NodeInfo) {
		if spec.Labels[key] == value {
			delete(spec.Labels, key)
		}
	}
	for _, taint := range node.Spec.Taints {
		if !strings.HasPrefix(taint.Key, "node.kubernetes.io/") && !strings.HasPrefix(taint.Key, "node.cloudprovider.kubernetes.io/") {
			taint.TimeAdded = nil
			spec.Taints = append(spec.Taints, taint)
		}
	}
	return spec
}

// ObjectFor returns the Node that a client creates for a node to be simulated.
func ObjectFor(name string, spec *Spec) *corev1.Node {
	object := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: spec.Labels, Annotations: map[string]string{}},
		Spec:       corev1.NodeSpec{Taints: spec.Taints, Unschedulable: spec.Unschedulable},
		Status: corev1.NodeStatus{
			Capacity: spec.Capacity, Allocatable: spec.Allocatable,
			NodeInfo: corev1.NodeSystemInfo{KubeletVersion: spec.KubeletVersion},
		},
	}
	maps.Copy(object.Annotations, spec.Annotations)
	object.Annotations[AnnotationNode] = Simulated
	for _, image := range spec.Images {
		object.Status.Images = append(object.Status.Images, reportedImage(image))
	}
	return object
}
