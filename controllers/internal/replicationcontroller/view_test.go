package replicationcontroller

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/controllers/internal/replicaset/decide"
)

func TestStatusSurvivesTheView(t *testing.T) {
	rc := &corev1.ReplicationController{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "web", UID: "rc", Generation: 3},
		Spec:       corev1.ReplicationControllerSpec{Selector: map[string]string{"app": "web"}, Template: &corev1.PodTemplateSpec{}},
		Status: corev1.ReplicationControllerStatus{
			Replicas: 5, FullyLabeledReplicas: 4, ReadyReplicas: 3, AvailableReplicas: 2, ObservedGeneration: 3,
			Conditions: []corev1.ReplicationControllerCondition{{
				Type: corev1.ReplicationControllerReplicaFailure, Status: corev1.ConditionTrue,
				LastTransitionTime: metav1.NewTime(time.Unix(1, 0)), Reason: "FailedCreate", Message: "quota",
			}},
		},
	}
	rs := view(rc)
	if diff := cmp.Diff(rc, withStatus(rc, &rs.Status)); diff != "" {
		t.Errorf("the status there and back (-want +got):\n%s", diff)
	}
	// A converged object must not be written again.
	p, err := decide.ReplicaSet(decide.Snapshot{ReplicaSet: rs, Kind: Owners().Kind}, time.Unix(2, 0))
	if err != nil {
		t.Fatal(err)
	}
	if p.Status.TerminatingReplicas != nil {
		t.Error("the status of a ReplicationController has no place for terminating replicas")
	}
	if ref := p.Actions[0].Objects[0].GetOwnerReferences()[0]; ref.Kind != "ReplicationController" || ref.APIVersion != "v1" {
		t.Errorf("the pods' owner is %+v", ref)
	}
}

func TestNoLabelsSelectNothing(t *testing.T) {
	selector, err := metav1.LabelSelectorAsSelector(view(&corev1.ReplicationController{}).Spec.Selector)
	if err != nil || selector.Matches(nil) {
		t.Errorf("an empty selector selects %v, %v", selector, err)
	}
}
