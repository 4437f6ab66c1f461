package replicaset

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/controllers/owned"
	"minikcm.dev/minikcm/controllers/plan"
)

// Kind is what the replicaset-controller's owners are.
var Kind = appsv1.SchemeGroupVersion.WithKind("ReplicaSet")

// burst is how many pods one plan creates or deletes at most, as upstream's.
const burst = 500

// Snapshot is all that a decision depends on, but the time. Nothing in it is changed.
type Snapshot struct {
	// ReplicaSet is the owner, or how one of another kind looks as a ReplicaSet.
	ReplicaSet *appsv1.ReplicaSet
	// Kind is what the owner really is; the zero value: a ReplicaSet.
	Kind schema.GroupVersionKind
	// Pods are those that it controls, and those of its namespace that nobody does.
	Pods []*corev1.Pod
	// Crowd is how many active pods each node has of this ReplicaSet and of those
	// with the same owner. It is looked at only when pods are to be deleted.
	Crowd map[string]int
}

func (in *Snapshot) kind() schema.GroupVersionKind {
	if in.Kind.Empty() {
		return Kind
	}
	return in.Kind
}

// Plan is what is to be done about a ReplicaSet.
type Plan = plan.Plan[appsv1.ReplicaSetStatus]

// Decide says what brings the ReplicaSet's pods to the number that it asks for,
// and what its status is. The caller sees to it that the snapshot has its own
// earlier writes.
func Decide(in Snapshot, now time.Time) (Plan, error) {
	rs := in.ReplicaSet
	selector, err := metav1.LabelSelectorAsSelector(rs.Spec.Selector)
	if err != nil {
		return Plan{}, fmt.Errorf("reading the selector of %s %s/%s: %w", in.kind().Kind, rs.Namespace, rs.Name, err)
	}
	claims := owned.Claim(rs, selector, in.Pods)
	active := make([]*corev1.Pod, 0, len(claims.Owned))
	terminating := int32(0)
	for _, pod := range claims.Owned {
		switch {
		case owned.Active(pod):
			active = append(active, pod)
		case owned.Terminating(pod):
			terminating++
		}
	}
	var p Plan
	p.Actions = append(p.Actions, plan.Each(plan.Release, claims.Release)...)
	p.Actions = append(p.Actions, plan.Each(plan.Adopt, claims.Adopt)...)
	if rs.DeletionTimestamp == nil {
		p.Actions = append(p.Actions, scale(in, active, now)...)
	}
	status, soonest := count(rs, active, now)
	if in.kind() == Kind { // no other kind's status has a place for it
		status.TerminatingReplicas = &terminating
	}
	p.Status, p.RequeueAfter = status, soonest
	return p, nil
}

// Lacking is how many pods are to be created; a negative number is to be deleted.
func Lacking(rs *appsv1.ReplicaSet, active int) int { return int(replicas(rs)) - active }

func replicas(rs *appsv1.ReplicaSet) int32 {
	if rs.Spec.Replicas == nil {
		return 1
	}
	return *rs.Spec.Replicas
}

// scale creates the pods that are lacking or deletes those that are too many.
func scale(in Snapshot, active []*corev1.Pod, now time.Time) []plan.Action {
	lacking := Lacking(in.ReplicaSet, len(active))
	switch {
	case lacking > 0:
		lacking = min(lacking, burst)
		action := plan.Action{
			Verb: plan.Create, SlowStart: true, Objects: make([]plan.Object, lacking),
			Succeeded: &plan.Event{Type: corev1.EventTypeNormal, Reason: "SuccessfulCreate", Message: "Created pod: ", Detail: true},
			Failed:    &plan.Event{Type: corev1.EventTypeWarning, Reason: "FailedCreate", Message: "Error creating: ", Detail: true},
		}
		pod := owned.PodOf(&in.ReplicaSet.Spec.Template, in.ReplicaSet, in.kind())
		for i := range action.Objects {
			// Copies, because encoding an object sets its kind for a moment.
			one := *pod
			action.Objects[i] = &one
		}
		return []plan.Action{action}
	case lacking < 0:
		action := plan.Each(plan.Delete, toDelete(active, in.Crowd, min(-lacking, burst), now))
		action[0].Succeeded = &plan.Event{Type: corev1.EventTypeNormal, Reason: "SuccessfulDelete", Message: "Deleted pod: ", Detail: true}
		action[0].Failed = &plan.Event{Type: corev1.EventTypeWarning, Reason: "FailedDelete", Message: "Error deleting: ", Detail: true}
		return action
	default:
		return nil
	}
}

// count returns the status that the pods amount to, and when the next ready pod
// becomes available.
func count(rs *appsv1.ReplicaSet, active []*corev1.Pod, now time.Time) (*appsv1.ReplicaSetStatus, time.Duration) {
	status := &appsv1.ReplicaSetStatus{
		Replicas:           int32(len(active)),
		ObservedGeneration: rs.Generation,
		Conditions:         rs.Status.Conditions,
	}
	template := labels.SelectorFromSet(rs.Spec.Template.Labels)
	var soonest time.Duration
	for _, pod := range active {
		if template.Matches(labels.Set(pod.Labels)) {
			status.FullyLabeledReplicas++
		}
		if !owned.Ready(pod) {
			continue
		}
		status.ReadyReplicas++
		available, lacks := owned.Available(pod, rs.Spec.MinReadySeconds, now)
		if available {
			status.AvailableReplicas++
		} else if lacks > 0 && (soonest == 0 || lacks < soonest) {
			soonest = lacks
		}
	}
	return status, soonest
}
