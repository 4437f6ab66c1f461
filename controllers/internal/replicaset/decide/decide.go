package decide

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/controllers/internal/controllerref"
	"minikcm.dev/minikcm/controllers/internal/plan"
)

// Kind is the kind of the replicaset-controller's owners.
var Kind = appsv1.SchemeGroupVersion.WithKind("ReplicaSet")

// burst caps the pods that one plan creates or deletes, as upstream does.
const burst = 500

// Snapshot is the input of a decision besides the time. The decision does not change it.
type Snapshot struct {
	// ReplicaSet is the owner, or the view of an owner of another kind as a ReplicaSet.
	ReplicaSet *appsv1.ReplicaSet
	// Kind is the actual kind of the owner; the zero value: a ReplicaSet.
	Kind schema.GroupVersionKind
	// Pods summarizes the owner's pods. An Account or a Survey returns it.
	Pods Pods
	// Active are the owner's active pods, including those in Pods.Adopt. It is read only when
	// pods are to be deleted, as is Crowd.
	Active []*corev1.Pod
	// Crowd counts, by node, the active pods of this ReplicaSet and of all others with the same
	// controller.
	Crowd map[string]int
}

func (in *Snapshot) kind() schema.GroupVersionKind {
	if in.Kind.Empty() {
		return Kind
	}
	return in.Kind
}

// Plan is the decision about one ReplicaSet.
type Plan = plan.Plan[appsv1.ReplicaSetStatus]

// ReplicaSet returns the actions that bring the ReplicaSet's pods to the wanted number, and its
// status. The caller ensures that the snapshot includes its own earlier writes.
func ReplicaSet(in Snapshot, now time.Time) (Plan, error) {
	var p Plan
	p.Actions = append(p.Actions, plan.Each(plan.Release, in.Pods.Release)...)
	p.Actions = append(p.Actions, plan.Each(plan.Adopt, in.Pods.Adopt)...)
	if in.ReplicaSet.DeletionTimestamp == nil {
		p.Actions = append(p.Actions, scale(in, now)...)
	}
	counts := in.Pods.Counts
	p.Status = &appsv1.ReplicaSetStatus{
		Replicas:             counts.Active,
		FullyLabeledReplicas: counts.FullyLabeled,
		ReadyReplicas:        counts.Ready,
		AvailableReplicas:    counts.Available,
		ObservedGeneration:   in.ReplicaSet.Generation,
		Conditions:           in.ReplicaSet.Status.Conditions,
	}
	if in.kind() == Kind { // the status of no other kind has this field
		p.Status.TerminatingReplicas = &counts.Terminating
	}
	if ripens := in.Pods.Ripens; !ripens.IsZero() {
		p.RequeueAfter = max(ripens.Sub(now), 1) // it may have passed since the snapshot
	}
	return p, nil
}

// Lacking returns the number of pods to create; a negative number is the number of pods to delete.
func Lacking(rs *appsv1.ReplicaSet, counts Counts) int { return int(replicas(rs) - counts.Active) }

func replicas(rs *appsv1.ReplicaSet) int32 {
	if rs.Spec.Replicas == nil {
		return 1
	}
	return *rs.Spec.Replicas
}

// scale creates missing pods or deletes surplus ones.
func scale(in Snapshot, now time.Time) []plan.Action {
	lacking := Lacking(in.ReplicaSet, in.Pods.Counts)
	switch {
	case lacking > 0:
		lacking = min(lacking, burst)
		action := plan.Action{
			Verb: plan.Create, SlowStart: true, Objects: make([]plan.Object, lacking),
			Succeeded: &plan.Event{Type: corev1.EventTypeNormal, Reason: "SuccessfulCreate", Message: "Created pod: ", Detail: true},
			Failed:    &plan.Event{Type: corev1.EventTypeWarning, Reason: "FailedCreate", Message: "Error creating: ", Detail: true},
		}
		pod := controllerref.PodOf(&in.ReplicaSet.Spec.Template, in.ReplicaSet, in.kind())
		for i := range action.Objects {
			// Each object is a copy, because encoding an object sets its kind temporarily.
			one := *pod
			action.Objects[i] = &one
		}
		return []plan.Action{action}
	case lacking < 0:
		action := plan.Each(plan.Delete, toDelete(in.Active, in.Crowd, min(-lacking, burst), now))
		action[0].Succeeded = &plan.Event{Type: corev1.EventTypeNormal, Reason: "SuccessfulDelete", Message: "Deleted pod: ", Detail: true}
		action[0].Failed = &plan.Event{Type: corev1.EventTypeWarning, Reason: "FailedDelete", Message: "Error deleting: ", Detail: true}
		return action
	default:
		return nil
	}
}
