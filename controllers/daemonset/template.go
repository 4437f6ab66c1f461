package daemonset

import (
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/controllers/owned"
)

// generationLabel is the template's generation, as the pods of older versions of
// Kubernetes had it instead of a hash.
const generationLabel = "pod-template-generation"

// newPod returns a pod for the node.
func newPod(d *appsv1.DaemonSet, hash, node string) *corev1.Pod {
	pod := owned.PodOf(&d.Spec.Template, d, Kind)
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

// bindTo lets the scheduler choose this node only.
func bindTo(pod *corev1.Pod, node string) {
	if pod.Spec.Affinity == nil {
		pod.Spec.Affinity = &corev1.Affinity{}
	}
	if pod.Spec.Affinity.NodeAffinity == nil {
		pod.Spec.Affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	// In place of the template's terms, not beside them: they are alternatives.
	pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{
			{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node}},
		}}},
	}
}

// nodeOf returns the node that the pod is on or is meant for, or "" if it is none
// of ours in that respect.
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
