package statefulset_test

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"minikcm.dev/minikcm/controllers/internal/modeltest"
	"minikcm.dev/minikcm/controllers/internal/plan"
	"minikcm.dev/minikcm/controllers/internal/statefulset/decide"
)

// misreading is a decision about a changed copy of the snapshot.
func misreading(change func(in *decide.Snapshot)) decision {
	return func(in decide.Snapshot, now time.Time) (decide.Plan, error) {
		in.Set = in.Set.DeepCopy()
		change(&in)
		return decide.StatefulSet(in, now)
	}
}

// again is a decision that creates each pod twice, the second time under another name.
func again(in decide.Snapshot, now time.Time) (decide.Plan, error) {
	p, err := decide.StatefulSet(in, now)
	for i, action := range p.Actions {
		for _, o := range action.Objects {
			if pod, ok := o.(*corev1.Pod); ok && action.Verb == plan.Create {
				twin := pod.DeepCopy()
				twin.Name = "twin-" + pod.Name
				p.Actions[i].Objects = append(p.Actions[i].Objects, twin)
			}
		}
	}
	return p, err
}

// TestPlantedMistakesAreSeen checks that the properties detect wrong decisions.
func TestPlantedMistakesAreSeen(t *testing.T) {
	for name, mistake := range map[string]struct {
		property func(*rapid.T, decision)
		decide   decision
		want     string
	}{
		"the order of pods does not matter": {orderIsKept, misreading(func(in *decide.Snapshot) {
			in.Set.Spec.PodManagementPolicy = appsv1.ParallelPodManagement
		}), "was ready"},
		"one pod too many is replaced at a time": {parallelKeepsItsLimit, misreading(func(in *decide.Snapshot) {
			more := intstr.FromInt(in.Set.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable.IntValue() + 1)
			in.Set.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable = &more
		}), "are to be"},
		"a pod that there is is made again": {orderIsKept, again, "have the ordinal"},
		"the partition does not matter": {partitionIsKept, misreading(func(in *decide.Snapshot) {
			in.Set.Spec.UpdateStrategy.RollingUpdate.Partition = nil
		}), "is below the partition"},
		"old revisions stay": {convergesAfterChaos, misreading(func(in *decide.Snapshot) {
			many := int32(1000)
			in.Set.Spec.RevisionHistoryLimit = &many
		}), "are to be kept"},
		"failed pods stay": {convergesAfterChaos, misreading(func(in *decide.Snapshot) {
			for i, pod := range in.Pods {
				in.Pods[i] = pod.DeepCopy()
				in.Pods[i].Status.Phase = corev1.PodRunning
			}
		}), "is not as it should be"},
		"the first ordinal is taken for 0": {orderIsKept, misreading(func(in *decide.Snapshot) { in.Set.Spec.Ordinals = nil }), "came before"},
		"a missing claim is taken for one that is there": {claimsFollowTheirPods, misreading(func(in *decide.Snapshot) {
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
