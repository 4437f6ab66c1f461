package statefulset

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/controllers/plan"
)

// retention is the claims of a pod whose owners change.
type retention struct {
	claims []plan.Object
	// fresh: the pod is new or pending, and what is wrong with its claims is told even
	// if nothing is to be done about it.
	fresh bool
	// success and failure: it is told as an update of the pod.
	success, failure bool
	pod              string
}

// retain lets the pod's claims have the owners that the retention policy demands.
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
