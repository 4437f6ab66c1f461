package modeltest_test

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"minikcm.dev/minikcm/controllers/internal/controllerref"
	deploymentdecide "minikcm.dev/minikcm/controllers/internal/deployment/decide"
	"minikcm.dev/minikcm/controllers/internal/modeltest"
	"minikcm.dev/minikcm/controllers/internal/plan"
	replicasetdecide "minikcm.dev/minikcm/controllers/internal/replicaset/decide"
)

// misreading is a decision about a changed copy of the Deployment.
func misreading(change func(in *deploymentdecide.Snapshot)) planted {
	return planted{deployment: func(in deploymentdecide.Snapshot, now time.Time) (deploymentdecide.Plan, error) {
		in.Deployment = in.Deployment.DeepCopy()
		change(&in)
		return deploymentdecide.Deployment(in, now)
	}}
}

func oneMore(n **intstr.IntOrString) {
	more := intstr.FromInt(1)
	if *n != nil {
		more = intstr.FromInt((*n).IntValue() + 1)
	}
	*n = &more
}

func limits(d *appsv1.Deployment) *appsv1.RollingUpdateDeployment {
	return d.Spec.Strategy.RollingUpdate
}

// miscounting is a decision that wants one pod too many.
func miscounting(in replicasetdecide.Snapshot, now time.Time) (replicasetdecide.Plan, error) {
	in.ReplicaSet = in.ReplicaSet.DeepCopy()
	if n := in.ReplicaSet.Spec.Replicas; *n > 0 {
		*n++
	}
	return replicasetdecide.ReplicaSet(in, now)
}

// choosingBadly is a decision that deletes ready pods first.
func choosingBadly(in replicasetdecide.Snapshot, now time.Time) (replicasetdecide.Plan, error) {
	p, err := replicasetdecide.ReplicaSet(in, now)
	for i := range p.Actions {
		if p.Actions[i].Verb != plan.Delete {
			continue
		}
		n := len(p.Actions[i].Objects)
		p.Actions[i].Objects = nil
		for _, wantReady := range []bool{true, false} {
			for _, pod := range in.Active {
				if len(p.Actions[i].Objects) < n && controllerref.Ready(pod) == wantReady {
					p.Actions[i].Objects = append(p.Actions[i].Objects, pod)
				}
			}
		}
	}
	return p, err
}

// forgetful is a decision that adopts nothing.
func forgetful(in replicasetdecide.Snapshot, now time.Time) (replicasetdecide.Plan, error) {
	in.Pods.Counts.Active -= int32(len(in.Pods.Adopt))
	in.Pods.Adopt = nil
	return replicasetdecide.ReplicaSet(in, now)
}

// TestPlantedMistakesAreSeen checks that the properties detect wrong decisions.
func TestPlantedMistakesAreSeen(t *testing.T) {
	for name, mistake := range map[string]struct {
		property func(*rapid.T, planted)
		in       planted
		want     string
	}{
		"a Deployment surges by one pod too many": {
			rolloutKeepsItsLimits, misreading(func(in *deploymentdecide.Snapshot) { oneMore(&limits(in.Deployment).MaxSurge) }), "are allowed",
		},
		"a Deployment does without one pod too many": {
			rolloutKeepsItsLimits, misreading(func(in *deploymentdecide.Snapshot) { oneMore(&limits(in.Deployment).MaxUnavailable) }), "are to be",
		},
		"Recreate does not wait for the old pods to end": {
			recreateNeverMixes, misreading(func(in *deploymentdecide.Snapshot) { in.Running = nil }), "templates exist",
		},
		"a Deployment takes an old status for the present one": {
			rolloutKeepsItsLimits, misreading(func(in *deploymentdecide.Snapshot) {
				for i, rs := range in.ReplicaSets {
					in.ReplicaSets[i] = rs.DeepCopy()
					in.ReplicaSets[i].Status.ObservedGeneration = rs.Generation
				}
			}), "are",
		},
		"a ReplicaSet keeps one pod too many":   {convergesAfterChaos, planted{replicaSet: miscounting}, "replicas are wanted"},
		"a ReplicaSet deletes ready pods first": {rolloutKeepsItsLimits, planted{replicaSet: choosingBadly}, "are to be"},
		"a ReplicaSet leaves orphans alone":     {convergesAfterChaos, planted{replicaSet: forgetful}, "replicas are wanted"},
	} {
		t.Run(name, func(t *testing.T) {
			modeltest.MustBreak(t, mistake.want, func(t *rapid.T) { mistake.property(t, mistake.in) })
		})
	}
}
