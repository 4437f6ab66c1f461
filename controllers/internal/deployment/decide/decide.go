package decide

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/controllers/internal/controllerref"
	"minikcm.dev/minikcm/controllers/internal/plan"
)

// Snapshot is the input of a decision besides the time. The decision does not change it.
type Snapshot struct {
	Deployment *appsv1.Deployment
	// ReplicaSets are the ReplicaSets that the Deployment controls, and the ones in its namespace
	// that have no controller.
	ReplicaSets []*appsv1.ReplicaSet
	// Running counts, by ReplicaSet, the pods that have not ended, including those that are
	// being deleted. Only the strategy Recreate reads it.
	Running map[types.UID]int
}

// Outcome holds the fields of a Deployment that record the state of its rollout.
type Outcome struct {
	// Revision is the annotation deployment.kubernetes.io/revision; "": it is not changed.
	Revision string
	Status   appsv1.DeploymentStatus
}

// Plan is the decision about one Deployment.
type Plan = plan.Plan[Outcome]

// Deployment returns the Deployment's next step. The caller ensures that the snapshot includes
// its own earlier writes.
func Deployment(in Snapshot, now time.Time) (Plan, error) {
	d := in.Deployment
	selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
	if err != nil {
		return Plan{}, fmt.Errorf("reading the selector of Deployment %s/%s: %w", d.Namespace, d.Name, err)
	}
	if selector.Empty() {
		return selectsAll(d), nil
	}
	claims := controllerref.Claim(d, selector, in.ReplicaSets)
	r := newRollout(in, claims.Owned, now)
	r.plan.Actions = append(r.plan.Actions, plan.Each(plan.Release, claims.Release)...)
	r.plan.Actions = append(r.plan.Actions, plan.Each(plan.Adopt, claims.Adopt)...)
	r.step()
	// The new ReplicaSet comes first: if its action fails, the old ones must not shrink.
	for _, s := range slices.Backward(r.all()) {
		if action, needed := s.action(); needed {
			r.plan.Actions = append(r.plan.Actions, action)
		}
	}
	r.plan.Actions = append(r.plan.Actions, r.cleanUps...)
	r.plan.Status = &Outcome{Revision: r.revision, Status: r.status}
	return r.plan, nil
}

// selectsAll rejects a Deployment that would adopt every pod.
func selectsAll(d *appsv1.Deployment) Plan {
	status := d.Status
	status.ObservedGeneration = max(status.ObservedGeneration, d.Generation)
	return Plan{
		Status: &Outcome{Status: status},
		Events: []plan.Event{{
			Type: corev1.EventTypeWarning, Reason: "SelectingAll",
			Message: "This deployment is selecting all pods. A non-empty selector is required.",
		}},
	}
}

// rollout is the state of a decision while it is made.
type rollout struct {
	in     Snapshot
	d      *appsv1.Deployment
	now    time.Time
	wanted int32
	limits limits
	// new is the ReplicaSet of the current template; nil if there is none yet.
	new *set
	// old are the other ReplicaSets, oldest first.
	old []*set

	plan     Plan
	cleanUps []plan.Action
	revision string
	status   appsv1.DeploymentStatus
}

func newRollout(in Snapshot, sets []*appsv1.ReplicaSet, now time.Time) *rollout {
	d := in.Deployment
	r := &rollout{in: in, d: d, now: now, wanted: wantedReplicas(d), limits: limitsOf(d)}
	r.status.Conditions = slices.Clone(d.Status.Conditions)
	for _, rs := range sets {
		r.old = append(r.old, newSet(rs))
	}
	slices.SortFunc(r.old, byAge)
	// The oldest one with the template is the new ReplicaSet, so that the choice among
	// several does not change between reconciles.
	i := slices.IndexFunc(r.old, func(s *set) bool { return sameTemplate(&s.Spec.Template, &d.Spec.Template) })
	if i >= 0 {
		r.new = r.old[i]
		r.old = slices.Delete(r.old, i, i+1)
	}
	return r
}

// all returns the ReplicaSets, the new one last.
func (r *rollout) all() []*set {
	if r.new == nil {
		return r.old
	}
	return append(slices.Clip(r.old), r.new)
}

func (r *rollout) recreates() bool {
	return r.d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType
}

// step takes one step of the rollout and computes the status.
func (r *rollout) step() {
	if r.d.DeletionTimestamp != nil {
		r.countReplicas()
		return
	}
	r.notePause()
	if revision, asked := rollbackTo(r.d); asked && !r.d.Spec.Paused {
		r.rollBack(revision)
		return
	}
	if r.new != nil {
		r.syncNew()
	}
	switch {
	case r.d.Spec.Paused:
		r.scale()
		r.cleanUp()
		r.countReplicas()
	case r.scalingEvent():
		r.scale()
		r.countReplicas()
	case r.recreates():
		r.recreate()
		r.countReplicas()
		r.judgeProgress()
	default:
		r.roll()
		r.countReplicas()
		r.judgeProgress()
	}
}

// syncNew updates an existing new ReplicaSet to the Deployment.
func (r *rollout) syncNew() {
	r.inherit()
	r.new.minReadySeconds = r.d.Spec.MinReadySeconds
	r.revision = r.new.annotations[revisionAnnotation]
	if hasDeadline(r.d) && r.condition(appsv1.DeploymentProgressing) == nil {
		r.progress(corev1.ConditionTrue, foundNewReason, fmt.Sprintf("Found new replica set %q", r.new.Name))
	}
}

// ensureNew plans the creation of the new ReplicaSet, if there is none, with the size that
// the strategy allows at once.
func (r *rollout) ensureNew() {
	if r.new != nil {
		return
	}
	r.new = unbornSet(r.d)
	r.inherit()
	r.resizeFor(r.new, r.newSize())
	r.revision = r.new.annotations[revisionAnnotation]
	if hasDeadline(r.d) {
		r.progress(corev1.ConditionTrue, newCreatedReason, fmt.Sprintf("Created new replica set %q", r.new.Name))
	}
}

// resize sets the size of the ReplicaSet and reports whether it differs from the previous
// one.
func (r *rollout) resize(s *set, size int32) bool {
	if s.size == size {
		return false
	}
	r.resizeFor(s, size)
	return true
}

// resizeFor also records the Deployment's replicas in annotations. By them, scalingEvent
// distinguishes a change of the replicas from the rollout.
func (r *rollout) resizeFor(s *set, size int32) {
	s.size = size
	s.annotate(desiredReplicasAnnotation, strconv.Itoa(int(r.wanted)))
	s.annotate(maxReplicasAnnotation, strconv.Itoa(int(r.wanted+r.limits.surge)))
}
