package replicationcontroller

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/controllers/internal/replicaset"
)

// Owners defines the view of ReplicationControllers as ReplicaSets.
func Owners() replicaset.Owners[*corev1.ReplicationController] {
	return replicaset.Owners[*corev1.ReplicationController]{
		Kind:       corev1.SchemeGroupVersion.WithKind("ReplicationController"),
		View:       view,
		Selector:   selectorOf,
		WithStatus: withStatus,
	}
}

func view(rc *corev1.ReplicationController) *appsv1.ReplicaSet {
	rs := &appsv1.ReplicaSet{
		ObjectMeta: rc.ObjectMeta,
		Spec: appsv1.ReplicaSetSpec{
			Replicas:        rc.Spec.Replicas,
			MinReadySeconds: rc.Spec.MinReadySeconds,
			Selector:        selectorOf(rc),
		},
		Status: appsv1.ReplicaSetStatus{
			Replicas:             rc.Status.Replicas,
			FullyLabeledReplicas: rc.Status.FullyLabeledReplicas,
			ReadyReplicas:        rc.Status.ReadyReplicas,
			AvailableReplicas:    rc.Status.AvailableReplicas,
			ObservedGeneration:   rc.Status.ObservedGeneration,
		},
	}
	if rc.Spec.Template != nil {
		rs.Spec.Template = *rc.Spec.Template
	}
	for _, c := range rc.Status.Conditions {
		rs.Status.Conditions = append(rs.Status.Conditions, appsv1.ReplicaSetCondition{
			Type: appsv1.ReplicaSetConditionType(c.Type), Status: c.Status,
			LastTransitionTime: c.LastTransitionTime, Reason: c.Reason, Message: c.Message,
		})
	}
	return rs
}

// selectorOf returns the labels as a selector. Without labels it returns nil, which selects
// nothing; an empty selector would select every pod.
func selectorOf(rc *corev1.ReplicationController) *metav1.LabelSelector {
	if len(rc.Spec.Selector) == 0 {
		return nil
	}
	return &metav1.LabelSelector{MatchLabels: rc.Spec.Selector}
}

func withStatus(rc *corev1.ReplicationController, status *appsv1.ReplicaSetStatus) *corev1.ReplicationController {
	update := *rc
	update.Status = corev1.ReplicationControllerStatus{
		Replicas:             status.Replicas,
		FullyLabeledReplicas: status.FullyLabeledReplicas,
		ReadyReplicas:        status.ReadyReplicas,
		AvailableReplicas:    status.AvailableReplicas,
		ObservedGeneration:   status.ObservedGeneration,
	}
	for _, c := range status.Conditions {
		update.Status.Conditions = append(update.Status.Conditions, corev1.ReplicationControllerCondition{
			Type: corev1.ReplicationControllerConditionType(c.Type), Status: c.Status,
			LastTransitionTime: c.LastTransitionTime, Reason: c.Reason, Message: c.Message,
		})
	}
	return &update
}
