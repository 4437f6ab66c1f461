package decide

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/controllers/internal/controllerref"
	"minikcm.dev/minikcm/controllers/internal/plan"
)

// Kind is the kind of this controller's owners.
var Kind = appsv1.SchemeGroupVersion.WithKind("DaemonSet")

// burst caps the pods that one plan creates or deletes, as upstream does.
const burst = 250

// Snapshot is the input of a decision besides the time. The decision does not change it.
type Snapshot struct {
	DaemonSet *appsv1.DaemonSet
	// Pods and Revisions are the objects that the DaemonSet controls, and the objects in its
	// namespace without a controller.
	Pods      []*corev1.Pod
	Revisions []*appsv1.ControllerRevision
	// Nodes are all nodes.
	Nodes []*corev1.Node
	// Failures are the failures that the previous Plan returned.
	Failures Failures
}

// Plan is the decision about one DaemonSet.
type Plan struct {
	plan.Plan[appsv1.DaemonSetStatus]
	// Failures have to be passed to the next decision.
	Failures Failures
}

// DaemonSet returns the actions that bring a pod to each node that should have one, or the
// next step of an update, and the status
// (https://kubernetes.io/docs/concepts/workloads/controllers/daemonset/). The caller
// ensures that the snapshot includes its own earlier writes.
func DaemonSet(in Snapshot, now time.Time) (Plan, error) {
	d := in.DaemonSet
	if d.DeletionTimestamp != nil {
		return Plan{}, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
	if err != nil {
		return Plan{}, fmt.Errorf("reading the selector of DaemonSet %s/%s: %w", d.Namespace, d.Name, err)
	}
	if selector.Empty() {
		return selectsAll(), nil
	}
	pods, records := controllerref.Claim(d, selector, in.Pods), controllerref.Claim(d, selector, in.Revisions)
	revs, err := revise(d, records.Owned)
	if err != nil {
		return Plan{}, err
	}
	p := Plan{Failures: in.Failures.of(d)}
	p.Actions = append(p.Actions, plan.Each(plan.Release, pods.Release)...)
	p.Actions = append(p.Actions, plan.Each(plan.Adopt, pods.Adopt)...)
	p.Actions = append(p.Actions, plan.Each(plan.Release, records.Release)...)
	p.Actions = append(p.Actions, plan.Each(plan.Adopt, records.Adopt)...)
	p.Actions = append(p.Actions, revs.actions...)
	p.Actions = append(p.Actions, revs.merge(pods.Owned)...)
	s := newStep(in, pods.Owned, revs, now)
	s.failures = &p.Failures
	s.manage()
	if len(s.create)+len(s.remove) == 0 {
		s.roll()
	}
	p.Actions = append(p.Actions, s.actions()...)
	p.Actions = append(p.Actions, revs.surplus(pods.Owned)...)
	p.Events = s.events
	p.Status = s.count()
	p.RequeueAfter = s.soonest
	return p, nil
}

// selectsAll returns only an event for a DaemonSet that would adopt every pod. The API
// rejects such a DaemonSet, but one may already be stored.
func selectsAll() Plan {
	var p Plan
	p.Events = []plan.Event{{
		Type: corev1.EventTypeWarning, Reason: "SelectingAll",
		Message: "This daemon set is selecting all pods. A non-empty selector is required.",
	}}
	return p
}
