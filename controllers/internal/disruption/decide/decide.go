package decide

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"minikcm.dev/minikcm/controllers/internal/controllerref"
	"minikcm.dev/minikcm/controllers/internal/plan"
)

// deletionTimeout is the time after its eviction at which a pod that still runs counts
// again.
const deletionTimeout = 2 * time.Minute

// Snapshot is the input of a decision about a budget.
type Snapshot struct {
	Budget *policyv1.PodDisruptionBudget
	// Pods summarizes the pods that the budget selects. An Account or a Survey returns it.
	Pods Pods
	// Scales are the wanted sizes of the pods' controllers, by UID. A pod whose controller
	// is missing here makes the calculation fail.
	Scales map[types.UID]int32
	// Sizeless holds, by UID, the errors of controllers that have no size.
	Sizeless map[types.UID]error
}

// Plan is a decision about a budget.
type Plan struct {
	plan.Plan[policyv1.PodDisruptionBudgetStatus]
	// Overdue are the evicted pods that have not been deleted within deletionTimeout.
	Overdue []*corev1.Pod
}

// Budget calculates a budget's status. The error says why it cannot be calculated: the
// status then allows no evictions.
func Budget(in Snapshot, now time.Time) (Plan, error) {
	var p Plan
	if in.Pods.Number == 0 {
		p.Events = append(p.Events, plan.Event{Type: corev1.EventTypeNormal, Reason: "NoPods", Message: "No matching pods found"})
	}
	need, err := wanted(in)
	if err != nil {
		p.Events = append(p.Events, plan.Event{
			Type: corev1.EventTypeWarning, Reason: "CalculateExpectedPodCountFailed",
			Message: "Failed to calculate the number of expected pods: " + err.Error(),
		})
		p.Status = failed(in.Budget, err, now)
		return p, err
	}
	if need.unmanaged {
		p.Events = append(p.Events, unmanagedEvent(in.Budget))
	}
	var disrupted map[string]metav1.Time
	var recheck time.Time
	disrupted, recheck, p.Overdue = disruptedPods(in, now)
	if !recheck.IsZero() {
		p.RequeueAfter = recheck.Sub(now)
	}
	p.Status = status(in, need, disrupted, now)
	return p, nil
}

// need holds the numbers of pods that there should be, and that should be healthy.
type need struct {
	expected, healthy int32
	// unmanaged is true if pods without a controller could not be counted.
	unmanaged bool
}

// NeedsScales reports whether a decision about the budget reads the sizes of controllers.
func NeedsScales(budget *policyv1.PodDisruptionBudget) bool {
	least := budget.Spec.MinAvailable
	return budget.Spec.MaxUnavailable != nil || least != nil && least.Type != intstr.Int
}

func wanted(in Snapshot) (need, error) {
	spec := in.Budget.Spec
	if !NeedsScales(in.Budget) {
		n := need{expected: in.Pods.Number}
		if spec.MinAvailable != nil {
			n.healthy = spec.MinAvailable.IntVal
		}
		return n, nil
	}
	expected, unmanaged, err := expectedScale(in)
	if err != nil {
		return need{}, err
	}
	n := need{expected: expected, unmanaged: unmanaged}
	if spec.MaxUnavailable != nil {
		most, err := intstr.GetScaledValueFromIntOrPercent(spec.MaxUnavailable, int(expected), true)
		if err != nil {
			return need{}, err
		}
		n.healthy = max(expected-int32(most), 0) // most is at most expected, or the int32 of the field
		return n, nil
	}
	least, err := intstr.GetScaledValueFromIntOrPercent(spec.MinAvailable, int(expected), true)
	n.healthy = int32(least) // as above
	return n, err
}

// expectedScale adds up the sizes of all controllers of the pods.
func expectedScale(in Snapshot) (expected int32, unmanaged bool, err error) {
	for _, pod := range in.Pods.Controlled {
		controller := controllerref.ControllerUID(pod)
		if err := in.Sizeless[controller]; err != nil {
			return 0, false, err
		}
		size, known := in.Scales[controller]
		if !known {
			return 0, false, fmt.Errorf("found no controllers for pod %q", pod.Name)
		}
		expected += size
	}
	return expected, in.Pods.Unmanaged, nil
}

func unmanagedEvent(budget *policyv1.PodDisruptionBudget) plan.Event {
	return plan.Event{
		Type: corev1.EventTypeWarning, Reason: "UnmanagedPods",
		Message: fmt.Sprintf("Pods selected by this PodDisruptionBudget (selector: %v) were found to be unmanaged. "+
			"As a result, the status of the PDB cannot be calculated correctly, which may result in undefined behavior. "+
			"To account for these pods please set \".spec.minAvailable\" field of the PDB to an integer value.", budget.Spec.Selector),
	}
}

// OverdueEvent returns an event about a pod, not about the budget.
func OverdueEvent(budget *policyv1.PodDisruptionBudget) plan.Event {
	return plan.Event{
		Type: corev1.EventTypeWarning, Reason: "NotDeleted",
		Message: fmt.Sprintf("Pod was expected by PDB %s/%s to be deleted but it wasn't", budget.Namespace, budget.Name),
	}
}

// AmbiguousEvent returns an event about a pod that several budgets select, which can never
// be evicted. Upstream's controller counts such a pod for one of the budgets, this one for
// each.
func AmbiguousEvent(pod metav1.Object, budgets []types.NamespacedName) plan.Event {
	first := slices.MinFunc(budgets, func(a, b types.NamespacedName) int { return cmp.Compare(a.Name, b.Name) })
	return plan.Event{
		Type: corev1.EventTypeWarning, Reason: "MultiplePodDisruptionBudgets",
		Message: fmt.Sprintf("Pod %q/%q matches multiple PodDisruptionBudgets.  Chose %q arbitrarily.", pod.GetNamespace(), pod.GetName(), first.Name),
	}
}

// disruptedPods returns the evicted pods that are still expected to be deleted, the time at
// which the first of them becomes overdue, and the overdue pods.
func disruptedPods(in Snapshot, now time.Time) (map[string]metav1.Time, time.Time, []*corev1.Pod) {
	var kept map[string]metav1.Time
	var recheck time.Time
	var overdue []*corev1.Pod
	for _, pod := range in.Pods.Evicted {
		if pod.DeletionTimestamp != nil {
			continue
		}
		since := in.Budget.Status.DisruptedPods[pod.Name]
		expires := since.Add(deletionTimeout)
		if expires.Before(now) {
			overdue = append(overdue, pod)
			continue
		}
		if kept == nil {
			kept = map[string]metav1.Time{}
		}
		kept[pod.Name] = since
		if recheck.IsZero() || expires.Before(recheck) {
			recheck = expires
		}
	}
	return kept, recheck, overdue
}

// healthy returns the number of healthy pods that have not been evicted.
func healthy(in Snapshot, disrupted map[string]metav1.Time) int32 {
	n := in.Pods.Healthy
	for _, pod := range in.Pods.Evicted {
		if _, evicted := disrupted[pod.Name]; evicted && isHealthy(pod) {
			n--
		}
	}
	return n
}

// status returns the new status, or nil if it does not change.
func status(in Snapshot, n need, disrupted map[string]metav1.Time, now time.Time) *policyv1.PodDisruptionBudgetStatus {
	old := &in.Budget.Status
	next := old.DeepCopy()
	next.CurrentHealthy = healthy(in, disrupted)
	next.DesiredHealthy, next.ExpectedPods = n.healthy, n.expected
	next.DisruptionsAllowed = 0
	if n.expected > 0 {
		next.DisruptionsAllowed = max(next.CurrentHealthy-n.healthy, 0)
	}
	next.DisruptedPods = disrupted
	next.ObservedGeneration = in.Budget.Generation
	condition := metav1.Condition{
		Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse, Reason: policyv1.InsufficientPodsReason,
		ObservedGeneration: next.ObservedGeneration, LastTransitionTime: metav1.NewTime(now),
	}
	if next.DisruptionsAllowed > 0 {
		condition.Status, condition.Reason = metav1.ConditionTrue, policyv1.SufficientPodsReason
	}
	meta.SetStatusCondition(&next.Conditions, condition)
	if apiequality.Semantic.DeepEqual(old, next) {
		return nil
	}
	return next
}

// failed returns the status of a budget that cannot be calculated: it allows no evictions.
func failed(budget *policyv1.PodDisruptionBudget, err error, now time.Time) *policyv1.PodDisruptionBudgetStatus {
	next := budget.Status.DeepCopy()
	next.DisruptionsAllowed = 0
	meta.SetStatusCondition(&next.Conditions, metav1.Condition{
		Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse, Reason: policyv1.SyncFailedReason, Message: err.Error(),
		ObservedGeneration: budget.Status.ObservedGeneration, LastTransitionTime: metav1.NewTime(now),
	})
	if apiequality.Semantic.DeepEqual(&budget.Status, next) {
		return nil
	}
	return next
}
