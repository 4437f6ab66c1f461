package replicasettest

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Now is the time at which the tests take place.
var Now = time.Unix(1_000_000, 0)

// ReplicaSet returns a ReplicaSet a/web with the UID rs, which selects the label app=web.
func ReplicaSet(replicas int32) *appsv1.ReplicaSet {
	labels := map[string]string{"app": "web"}
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "web", UID: "rs", Generation: 4},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web", "tier": "front"}}},
		},
	}
}

// Option changes a pod that Pod builds.
type Option func(*corev1.Pod)

// Pod returns a running pod of the ReplicaSet on node n1, an hour old and not ready.
func Pod(name string, opts ...Option) *corev1.Pod {
	yes := true
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "a", Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(Now.Add(-time.Hour)),
			Labels:          map[string]string{"app": "web", "tier": "front"},
			OwnerReferences: []metav1.OwnerReference{{UID: "rs", Controller: &yes}},
		},
		Spec:   corev1.PodSpec{NodeName: "n1"},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
	for _, o := range opts {
		o(p)
	}
	return p
}

// Phase sets the pod's phase.
func Phase(p corev1.PodPhase) Option { return func(pod *corev1.Pod) { pod.Status.Phase = p } }

// On sets the pod's node.
func On(node string) Option { return func(pod *corev1.Pod) { pod.Spec.NodeName = node } }

// Orphan removes the pod's owner.
func Orphan(pod *corev1.Pod) { pod.OwnerReferences = nil }

// Labelled sets a label of the pod.
func Labelled(key, value string) Option {
	return func(pod *corev1.Pod) { pod.Labels[key] = value }
}

// Going marks the pod as being deleted.
func Going(pod *corev1.Pod) { pod.DeletionTimestamp = &metav1.Time{Time: Now} }

// Ready makes the pod ready since that long before Now.
func Ready(ago time.Duration) Option {
	return func(pod *corev1.Pod) {
		pod.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(Now.Add(-ago)),
		}}
	}
}
