package decide

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/controllers/controllerref"
	"minikcm.dev/minikcm/controllers/plan"
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
	// Pods are those that the owner controls, and those in its namespace without a
	// controller.
	Pods []*corev1.Pod
	// Crowd counts, by node, the active pods of this ReplicaSet and of those with the same
	// controller. It is read only when pods are to be deleted.
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
	rs := in.ReplicaSet
	selector, err := metav1.LabelSelectorAsSelector(rs.Spec.Selector)
	if err != nil {
		return Plan{}, fmt.Errorf("reading the selector of %s %s/%s: %w", in.kind().Kind, rs.Namespace, rs.Name, err)
	}
	claims := controllerref.Claim(rs, selector, in.Pods)
	active := make([]*corev1.Pod, 0, len(claims.Owned))
	terminating := int32(0)
	for _, pod := range claims.Owned {
		switch {
		case controllerref.Active(pod):
			active = append(active, pod)
		case controllerref.Terminating(pod):
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
	if in.kind() == Kind { // the status of no other kind has this field
		status.TerminatingReplicas = &terminating
	}
	p.Status, p.RequeueAfter = status, soonest
	return p, nil
}

// Lacking returns the number of pods to create; if it is negative, that of pods to delete.
func Lacking(rs *appsv1.ReplicaSet, active int) int { return int(replicas(rs)) - active }

func replicas(rs *appsv1.ReplicaSet) int32 {
	if rs.Spec.Replicas == nil {
		return 1
	}
	return *rs.Spec.Replicas
}

// scale creates missing pods or deletes surplus ones.
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
		pod := controllerref.PodOf(&in.ReplicaSet.Spec.Template, in.ReplicaSet, in.kind())
		for i := range action.Objects {
			// Each object is a copy, because encoding an object sets its kind temporarily.
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

// count returns the status that follows from the pods, and the time until the next ready
// pod becomes available.
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
		if !controllerref.Ready(pod) {
			continue
		}
		status.ReadyReplicas++
		available, lacks := controllerref.Available(pod, rs.Spec.MinReadySeconds, now)
		if available {
			status.AvailableReplicas++
		} else if lacks > 0 && (soonest == 0 || lacks < soonest) {
			soonest = lacks
		}
	}
	return status, soonest
}
