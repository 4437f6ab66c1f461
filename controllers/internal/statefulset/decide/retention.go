package decide

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/controllers/internal/plan"
)

// retention is a change of the owners of a pod's claims.
type retention struct {
	claims []plan.Object
	// fresh is true if the pod is new or pending: a conflict of its claims is then reported
	// even if there is nothing to change.
	fresh bool
	// success and failure select the events of a pod update to record.
	success, failure bool
	pod              string
}

// retain plans the owners that the retention policy wants for the pod's claims.
func (s *step) retain(pod *corev1.Pod, r retention) {
	ordinal, _ := member(s.set, pod)
	r.pod = pod.Name
	for i := range s.set.Spec.VolumeClaimTemplates {
		claim := s.in.Claim(claimName(s.set, &s.set.Spec.VolumeClaimTemplates[i], ordinal))
		if claim == nil || claim.DeletionTimestamp != nil {
			continue
		}
		updated := retained(s.set, pod, ordinal, claim)
		if updated != nil {
			r.claims = append(r.claims, updated)
		}
		if (r.fresh || updated != nil) && contested(s.set, pod, claim) {
			s.events = append(s.events, plan.Event{
				Type: corev1.EventTypeWarning, Reason: "ConflictingController",
				Message: fmt.Sprintf("PersistentVolumeClaim %s has a conflicting OwnerReference that acts as a manging controller, "+
					"the retention policy is ignored for this claim", claim.Name),
			})
		}
	}
	if len(r.claims) > 0 {
		s.retained = append(s.retained, r)
	}
}
