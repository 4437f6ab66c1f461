package statefulset_test

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"minikcm.dev/minikcm/controllers/modeltest"
	"minikcm.dev/minikcm/controllers/statefulset"
)

// misreading is a decision about another snapshot than the one there is.
func misreading(change func(in *statefulset.Snapshot)) decision {
	return func(in statefulset.Snapshot, now time.Time) (statefulset.Plan, error) {
		in.Set = in.Set.DeepCopy()
		change(&in)
		return statefulset.Decide(in, now)
	}
}

// TestPlantedMistakesAreSeen: the properties find what is wrong with a decision.
func TestPlantedMistakesAreSeen(t *testing.T) {
	for name, mistake := range map[string]struct {
		property func(*rapid.T, decision)
		decide   decision
		want     string
	}{
		"the order of pods does not matter": {orderIsKept, misreading(func(in *statefulset.Snapshot) {
			in.Set.Spec.PodManagementPolicy = appsv1.ParallelPodManagement
		}), "was ready"},
		"one pod too many is replaced at a time": {parallelKeepsItsLimit, misreading(func(in *statefulset.Snapshot) {
			more := intstr.FromInt(in.Set.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable.IntValue() + 1)
			in.Set.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable = &more
		}), "are to be"},
		"a missing claim is taken for one that is there": {claimsFollowTheirPods, misreading(func(in *statefulset.Snapshot) {
			in.Claim = func(name string) *corev1.PersistentVolumeClaim {
				return &corev1.PersistentVolumeClaim{}
			}
		}), "has no claim"},
	} {
		t.Run(name, func(t *testing.T) {
			modeltest.MustBreak(t, mistake.want, func(t *rapid.T) { mistake.property(t, mistake.decide) })
		})
	}
}
