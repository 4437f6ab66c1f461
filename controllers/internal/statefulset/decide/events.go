package decide

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"minikcm.dev/minikcm/controllers/internal/plan"
)

// podEvents returns the events of an action on pods: Create, Update or Delete.
func (s *step) podEvents(verb string) (succeeded, failed *plan.Event) {
	what := verb + " Pod %s in StatefulSet " + s.set.Name
	return &plan.Event{Type: corev1.EventTypeNormal, Reason: "Successful" + verb, Message: what + " successful", Named: true},
		&plan.Event{Type: corev1.EventTypeWarning, Reason: "Failed" + verb, Message: what + " failed error: ", Named: true, Detail: true}
}

// claimEvents returns the events of the creation of a claim. The pod's ordinal is the
// suffix of the claim's name.
func (s *step) claimEvents(claim string) (succeeded, failed *plan.Event) {
	_, ordinal, _ := SplitOrdinal(claim)
	pod := podName(s.set, ordinal)
	succeeded = &plan.Event{
		Type: corev1.EventTypeNormal, Reason: "SuccessfulCreate",
		Message: fmt.Sprintf("Create Claim %s Pod %s in StatefulSet %s success", claim, pod, s.set.Name),
	}
	failed = &plan.Event{
		Type: corev1.EventTypeWarning, Reason: "FailedCreate", Detail: true,
		Message: fmt.Sprintf("Create Claim %s for Pod %s in StatefulSet %s failed error: ", claim, pod, s.set.Name),
	}
	return succeeded, failed
}

// retentionEvents returns the events of a change of a claim's owners. They are the same as for an
// update of its pod.
func (s *step) retentionEvents(r retention, claim plan.Object) (succeeded, failed *plan.Event) {
	what := fmt.Sprintf("Update Pod %s in StatefulSet %s", r.pod, s.set.Name)
	if r.success {
		succeeded = &plan.Event{Type: corev1.EventTypeNormal, Reason: "SuccessfulUpdate", Message: what + " successful"}
	}
	if r.failure {
		failed = &plan.Event{
			Type: corev1.EventTypeWarning, Reason: "FailedUpdate", Detail: true,
			Message: fmt.Sprintf("%s failed error: could not update claim %s for delete policy ownerRefs: ", what, claim.GetName()),
		}
	}
	return succeeded, failed
}

// reportClaims records an event about the claims that the ordinal's pod has to wait for. It
// does not report claims that belong to an earlier pod of the same name.
func (s *step) reportClaims(ordinal int) {
	var errs []error
	for i := range s.set.Spec.VolumeClaimTemplates {
		claim := s.in.Claim(claimName(s.set, &s.set.Spec.VolumeClaimTemplates[i], ordinal))
		if claim == nil || !stale(claim, podName(s.set, ordinal)) {
			continue
		}
		if ofPod(claim, podName(s.set, ordinal)) {
			return
		}
		errs = append(errs, errors.New("pvc "+claim.Name+" is being deleted"))
	}
	s.events = append(s.events, plan.Event{
		Type: corev1.EventTypeWarning, Reason: "FailedCreate",
		Message: fmt.Sprintf("Create Pod %s in StatefulSet %s failed error: %v", podName(s.set, ordinal), s.set.Name, utilerrors.NewAggregate(errs)),
	})
}
