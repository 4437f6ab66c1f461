package decide

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/controllers/internal/plan"
)

// set is a ReplicaSet with the changes that a decision makes to it.
type set struct {
	// ReplicaSet is the one in the snapshot, or the one to create.
	*appsv1.ReplicaSet
	// unborn is true for a ReplicaSet that has to be created.
	unborn bool
	// The fields that the ReplicaSet should have.
	size            int32
	annotations     map[string]string
	minReadySeconds int32
}

func newSet(rs *appsv1.ReplicaSet) *set {
	return &set{ReplicaSet: rs, size: specReplicas(rs), annotations: rs.Annotations, minReadySeconds: rs.Spec.MinReadySeconds}
}

func specReplicas(rs *appsv1.ReplicaSet) int32 {
	if rs.Spec.Replicas == nil {
		return 1
	}
	return *rs.Spec.Replicas
}

// observed reports whether the status reflects the current spec. Only then do its counts
// predict the number of pods.
func (s *set) observed() bool { return s.unborn || s.Status.ObservedGeneration >= s.Generation }

// available returns how many pods are certain to be available when the ReplicaSet has its
// size. It deletes unavailable surplus pods first.
func (s *set) available() int32 {
	if !s.observed() {
		return 0
	}
	return min(s.Status.AvailableReplicas, s.size)
}

// pods returns the most pods that the ReplicaSet can have before the next decision.
func (s *set) pods() int32 { return max(s.size, s.Status.Replicas) }

// annotate sets an annotation and reports whether it changes.
func (s *set) annotate(key, value string) bool {
	if current, ok := s.annotations[key]; ok && current == value {
		return false
	}
	s.annotations = maps.Clone(s.annotations)
	if s.annotations == nil {
		s.annotations = map[string]string{}
	}
	s.annotations[key] = value
	return true
}

// action returns the action that creates or updates the ReplicaSet, if it needs one.
func (s *set) action() (plan.Action, bool) {
	was := specReplicas(s.ReplicaSet)
	if s.unborn {
		was = 0
	}
	resized := s.size != was
	if !s.unborn && !resized && s.minReadySeconds == s.Spec.MinReadySeconds && maps.Equal(s.annotations, s.Annotations) {
		return plan.Action{}, false
	}
	wanted := *s.ReplicaSet // a shallow copy: objects behind pointers are not changed
	wanted.Spec.Replicas, wanted.Spec.MinReadySeconds, wanted.Annotations = &s.size, s.minReadySeconds, s.annotations
	action := plan.One(plan.Update, &wanted)
	if s.unborn {
		action.Verb = plan.Create
		action.Failed = &plan.Event{
			Type: corev1.EventTypeWarning, Reason: failedCreateReason,
			Message: fmt.Sprintf("Failed to create new replica set %q: ", s.Name), Detail: true,
		}
	}
	if resized {
		direction := "up"
		if s.size < was {
			direction = "down"
		}
		action.Succeeded = &plan.Event{
			Type: corev1.EventTypeNormal, Reason: "ScalingReplicaSet",
			Message: fmt.Sprintf("Scaled %s replica set %s from %d to %d", direction, s.Name, was, s.size),
		}
	}
	return action, true
}

func byAge(a, b *set) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
}

// largestFirst orders by size; tie orders sets of the same size.
func largestFirst(tie func(a, b *set) int) func(a, b *set) int {
	return func(a, b *set) int { return cmp.Or(cmp.Compare(b.size, a.size), tie(a, b)) }
}

func newestFirst(a, b *set) int { return byAge(b, a) }

func activeOf(sets []*set) []*set {
	return slices.DeleteFunc(slices.Clone(sets), func(s *set) bool { return s.size == 0 })
}

func sum(sets []*set, of func(*set) int32) int32 {
	total := int32(0)
	for _, s := range sets {
		total += of(s)
	}
	return total
}

func sizeOf(s *set) int32 { return s.size }
