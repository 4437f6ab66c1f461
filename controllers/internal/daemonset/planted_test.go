package daemonset_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"minikcm.dev/minikcm/controllers/internal/daemonset/decide"
	"minikcm.dev/minikcm/controllers/internal/modeltest"
	"minikcm.dev/minikcm/controllers/internal/plan"
)

// misreading is a decision about a changed copy of the snapshot.
func misreading(change func(in *decide.Snapshot)) decision {
	return func(in decide.Snapshot, now time.Time) (decide.Plan, error) {
		in.DaemonSet = in.DaemonSet.DeepCopy()
		change(&in)
		return decide.DaemonSet(in, now)
	}
}

func oneMore(n **intstr.IntOrString) {
	more := intstr.FromInt((*n).IntValue() + 1)
	*n = &more
}

// twice is a decision that creates each pod twice.
func twice(in decide.Snapshot, now time.Time) (decide.Plan, error) {
	p, err := decide.DaemonSet(in, now)
	for i, action := range p.Actions {
		if action.Verb == plan.Create {
			if _, isPod := action.Objects[0].(*corev1.Pod); isPod {
				p.Actions[i].Objects = append(action.Objects, action.Objects...)
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
		"one node too many does without a pod": {rolloutKeepsItsLimits, misreading(func(in *decide.Snapshot) {
			if limits := in.DaemonSet.Spec.UpdateStrategy.RollingUpdate; limits.MaxSurge.IntValue() == 0 {
				oneMore(&limits.MaxUnavailable)
			}
		}), "have a ready pod"},
		"one pod too many surges": {rolloutKeepsItsLimits, misreading(func(in *decide.Snapshot) {
			if limits := in.DaemonSet.Spec.UpdateStrategy.RollingUpdate; limits.MaxSurge.IntValue() > 0 {
				oneMore(&limits.MaxSurge)
			}
		}), "are allowed"},
		"each pod is created twice": {rolloutKeepsItsLimits, twice, "two pods of the same template"},
		"failed pods stay": {convergesAfterChaos, misreading(func(in *decide.Snapshot) {
			for i, pod := range in.Pods {
				in.Pods[i] = pod.DeepCopy()
				in.Pods[i].Status.Phase = corev1.PodRunning
			}
		}), "is not as it should be"},
		"old revisions stay": {convergesAfterChaos, misreading(func(in *decide.Snapshot) {
			many := int32(1000)
			in.DaemonSet.Spec.RevisionHistoryLimit = &many
		}), "are to be kept"},
		"a node's labels do not matter": {convergesAfterChaos, misreading(func(in *decide.Snapshot) {
			for i, node := range in.Nodes {
				in.Nodes[i] = node.DeepCopy()
				in.Nodes[i].Labels = map[string]string{"run": "yes"}
			}
		}), "is not as it should be"},
	} {
		t.Run(name, func(t *testing.T) {
			modeltest.MustBreak(t, mistake.want, func(t *rapid.T) { mistake.property(t, mistake.decide) })
		})
	}
}
