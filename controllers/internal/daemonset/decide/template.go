package decide

import (
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/controllers/internal/controllerref"
)

// generationLabel is the label with the template's generation, which the pods of older
// versions of Kubernetes have instead of a hash.
const generationLabel = "pod-template-generation"

// newPod returns a pod for the node.
func newPod(d *appsv1.DaemonSet, hash, node string) *corev1.Pod {
	pod := controllerref.PodOf(&d.Spec.Template, d, Kind)
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	if generation, ok := generationOf(d); ok {
		pod.Labels[generationLabel] = generation
	}
	pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = hash
	pod.Spec.Tolerations = tolerations(&d.Spec.Template.Spec)
	bindTo(pod, node)
	return pod
}

func generationOf(d *appsv1.DaemonSet) (string, bool) {
	generation, err := strconv.ParseInt(d.Annotations[appsv1.DeprecatedTemplateGeneration], 10, 64)
	if err != nil {
		return "", false
	}
	return strconv.FormatInt(generation, 10), true
}

// bindTo restricts the pod to this node by a node affinity.
func bindTo(pod *corev1.Pod, node string) {
	if pod.Spec.Affinity == nil {
		pod.Spec.Affinity = &corev1.Affinity{}
	}
	if pod.Spec.Affinity.NodeAffinity == nil {
		pod.Spec.Affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	// It replaces the template's terms instead of adding one, because terms are ORed.
	pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{
			{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node}},
		}}},
	}
}

// nodeOf returns the node that the pod is bound to or that its affinity names; "" if there
// is neither.
func nodeOf(pod *corev1.Pod) string {
	if pod.Spec.NodeName != "" {
		return pod.Spec.NodeName
	}
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.NodeAffinity == nil ||
		pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return ""
	}
	for _, term := range pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		i := slices.IndexFunc(term.MatchFields, func(r corev1.NodeSelectorRequirement) bool {
			return r.Key == metav1.ObjectNameField && r.Operator == corev1.NodeSelectorOpIn && len(r.Values) == 1
		})
		if i >= 0 {
			return term.MatchFields[i].Values[0]
		}
	}
	return ""
}
