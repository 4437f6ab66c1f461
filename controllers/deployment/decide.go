package deployment

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/controllers/owned"
	"minikcm.dev/minikcm/controllers/plan"
)

// Snapshot is all that a decision depends on, but the time. Nothing in it is changed.
type Snapshot struct {
	Deployment *appsv1.Deployment
	// ReplicaSets are those that it controls, and those of its namespace that
	// nobody does.
	ReplicaSets []*appsv1.ReplicaSet
	// Running counts, by ReplicaSet, the pods that have not ended, those that are
	// being deleted included. It is looked at only by the strategy Recreate.
	Running map[types.UID]int
}

// Outcome is what a Deployment carries about its rollout.
type Outcome struct {
	// Revision is the annotation deployment.kubernetes.io/revision; "": as it is.
	Revision string
	Status   appsv1.DeploymentStatus
}

// Plan is what is to be done about a Deployment.
type Plan = plan.Plan[Outcome]

// Decide says what the Deployment's next step is. The caller sees to it that the
// snapshot has its own earlier writes.
func Decide(in Snapshot, now time.Time) (Plan, error) {
	d := in.Deployment
	selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
	if err != nil {
		return Plan{}, fmt.Errorf("reading the selector of Deployment %s/%s: %w", d.Namespace, d.Name, err)
	}
	if selector.Empty() {
		return selectsAll(d), nil
	}
	claims := owned.Claim(d, selector, in.ReplicaSets)
	r := newRollout(in, claims.Owned, now)
	r.plan.Actions = append(r.plan.Actions, plan.Each(plan.Release, claims.Release)...)
	r.plan.Actions = append(r.plan.Actions, plan.Each(plan.Adopt, claims.Adopt)...)
	r.step()
	// The new one first: what becomes of the old ones is nothing without it.
	for _, s := range slices.Backward(r.all()) {
		if action, needed := s.action(); needed {
			r.plan.Actions = append(r.plan.Actions, action)
		}
	}
	r.plan.Actions = append(r.plan.Actions, r.cleanUps...)
	r.plan.Status = &Outcome{Revision: r.revision, Status: r.status}
	return r.plan, nil
}

// selectsAll refuses a Deployment that would claim every pod.
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

// rollout is a decision in the making.
type rollout struct {
	in     Snapshot
	d      *appsv1.Deployment
	now    time.Time
	wanted int32
	limits limits
	// new is the ReplicaSet of the current template; nil if there is none (yet).
	new *set
	// old are the others, oldest first.
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
	// The oldest that has the template is the new one: which of several it is must
	// not change from one look to the next.
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

// step takes one step, and takes stock.
func (r *rollout) step() {
	if r.d.DeletionTimestamp != nil {
		r.takeStock()
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
		r.takeStock()
	case r.scalingEvent():
		r.scale()
		r.takeStock()
	case r.recreates():
		r.recreate()
		r.takeStock()
		r.judgeProgress()
	default:
		r.roll()
		r.takeStock()
		r.judgeProgress()
	}
}

// syncNew brings an existing new ReplicaSet in line with the Deployment.
func (r *rollout) syncNew() {
	r.inherit()
	r.new.minReadySeconds = r.d.Spec.MinReadySeconds
	r.revision = r.new.annotations[revisionAnnotation]
	if hasDeadline(r.d) && r.condition(appsv1.DeploymentProgressing) == nil {
		r.progress(corev1.ConditionTrue, foundNewReason, fmt.Sprintf("Found new replica set %q", r.new.Name))
	}
}

// ensureNew makes the ReplicaSet of the template, if there is none, with the size
// that it may have at once.
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

// resize gives the ReplicaSet a size; it reports whether that is another one.
func (r *rollout) resize(s *set, size int32) bool {
	if s.size == size {
		return false
	}
	r.resizeFor(s, size)
	return true
}

// resizeFor also notes for what size of the Deployment it was, which is how a
// change of that is told from the rollout.
func (r *rollout) resizeFor(s *set, size int32) {
	s.size = size
	s.annotate(desiredReplicasAnnotation, strconv.Itoa(int(r.wanted)))
	s.annotate(maxReplicasAnnotation, strconv.Itoa(int(r.wanted+r.limits.surge)))
}
