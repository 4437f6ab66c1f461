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
var Kind = appsv1.SchemeGroupVersion.WithKind("StatefulSet")

// Snapshot is the input of a decision besides the time. The decision does not change it.
type Snapshot struct {
	Set *appsv1.StatefulSet
	// Pods and Revisions are the objects that the set controls, and the objects in its namespace
	// without a controller. Pods that Plain counts are not listed.
	Pods      []*corev1.Pod
	Plain     Plain
	Revisions []*appsv1.ControllerRevision
	// Claim returns the claim of that name in the namespace, or nil.
	Claim func(name string) *corev1.PersistentVolumeClaim
}

// Plan is the decision about one StatefulSet.
type Plan = plan.Plan[appsv1.StatefulSetStatus]

// StatefulSet returns the next step towards the StatefulSet's spec, and its status
// (https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/). The caller
// ensures that the snapshot includes its own earlier writes.
func StatefulSet(in Snapshot, now time.Time) (Plan, error) {
	set := in.Set
	selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector)
	if err != nil {
		return Plan{}, fmt.Errorf("reading the selector of StatefulSet %s/%s: %w", set.Namespace, set.Name, err)
	}
	pods := claimPods(set, selector, in.Pods)
	records := controllerref.Claim(set, selector, in.Revisions)
	revs, err := revise(set, records.Owned)
	if err != nil {
		return Plan{}, err
	}
	status, soonest := count(set, in.Plain, pods.Owned, revs, now)
	p := Plan{Status: status, RequeueAfter: soonest}
	if set.DeletionTimestamp != nil {
		return p, nil
	}
	p.Actions = append(p.Actions, plan.Each(plan.Release, pods.Release)...)
	p.Actions = append(p.Actions, plan.Each(plan.Adopt, pods.Adopt)...)
	p.Actions = append(p.Actions, plan.Each(plan.Adopt, records.Adopt)...)
	p.Actions = append(p.Actions, revs.actions...)
	s := newStep(in, pods.Owned, revs, now)
	s.take()
	p.Actions = append(p.Actions, s.actions()...)
	p.Actions = append(p.Actions, revs.surplus(pods.Owned)...)
	p.Events = s.events
	return p, nil
}
