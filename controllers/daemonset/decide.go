package daemonset

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/controllers/owned"
	"minikcm.dev/minikcm/controllers/plan"
)

// Kind is what this controller's owners are.
var Kind = appsv1.SchemeGroupVersion.WithKind("DaemonSet")

// burst is how many pods one plan creates or deletes at most, as upstream's.
const burst = 250

// Snapshot is the input of a decision besides the time. Decide does not change it.
type Snapshot struct {
	DaemonSet *appsv1.DaemonSet
	// Pods and Revisions are those that it controls, and those of its namespace that
	// nobody does.
	Pods      []*corev1.Pod
	Revisions []*appsv1.ControllerRevision
	// Nodes are all nodes.
	Nodes []*corev1.Node
	// Failures is what the last Plan said of them.
	Failures Failures
}

// Plan is the decision about one DaemonSet.
type Plan struct {
	plan.Plan[appsv1.DaemonSetStatus]
	// Failures are to be remembered for the next decision.
	Failures Failures
}

// Decide says what brings a pod to each node that is to have one, or the next step
// of an update, and what the status is
// (https://kubernetes.io/docs/concepts/workloads/controllers/daemonset/). The caller
// sees to it that the snapshot has its own earlier writes.
func Decide(in Snapshot, now time.Time) (Plan, error) {
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
	pods, records := owned.Claim(d, selector, in.Pods), owned.Claim(d, selector, in.Revisions)
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

// selectsAll leaves a DaemonSet alone that would take every pod for its own. The API
// accepts none; one that was stored otherwise is told of.
func selectsAll() Plan {
	var p Plan
	p.Events = []plan.Event{{
		Type: corev1.EventTypeWarning, Reason: "SelectingAll",
		Message: "This daemon set is selecting all pods. A non-empty selector is required.",
	}}
	return p
}
