package plugins

import (
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"

	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
)

// budget is a PodDisruptionBudget, with its selector parsed.
type budget struct {
	selector labels.Selector
	status   *policyv1.PodDisruptionBudgetStatus
}

// budgets are the PodDisruptionBudgets of one search for victims, by namespace.
type budgets map[string][]budget

// newBudgets leaves out the budgets that cover no pod: as in kube-scheduler, a nil or empty
// selector matches none.
func newBudgets(all []*policyv1.PodDisruptionBudget) budgets {
	if len(all) == 0 {
		return nil
	}
	byNamespace := budgets{}
	for _, b := range all {
		if selector := framework.ParseSelector(b.Spec.Selector); !selector.Empty() {
			byNamespace[b.Namespace] = append(byNamespace[b.Namespace], budget{selector, &b.Status})
		}
	}
	return byNamespace
}

// violator is a unit whose preemption violates budgets, by a number of its pods.
type violator struct {
	unit
	violations int
}

// split divides units, in their order, into those whose preemption violates a budget and the others.
// Each pod takes one of the disruptions that its budgets allow, unless the API server has granted
// its eviction already (status.disruptedPods).
func (b budgets) split(all []unit) (violating []violator, others []unit) {
	if len(b) == 0 {
		return nil, all
	}
	taken := map[*policyv1.PodDisruptionBudgetStatus]int32{}
	for _, u := range all {
		violations := 0
		for _, p := range u.pods {
			if b.take(p.pod.Pod, taken) {
				violations++
			}
		}
		if violations > 0 {
			violating = append(violating, violator{u, violations})
		} else {
			others = append(others, u)
		}
	}
	return violating, others
}

// take counts the deletion of a pod, and reports whether it violates a budget.
func (b budgets) take(pod *corev1.Pod, taken map[*policyv1.PodDisruptionBudgetStatus]int32) (violates bool) {
	if len(pod.Labels) == 0 {
		return false
	}
	for _, budget := range b[pod.Namespace] {
		if !budget.selector.Matches(labels.Set(pod.Labels)) {
			continue
		}
		if _, granted := budget.status.DisruptedPods[pod.Name]; granted {
			continue
		}
		taken[budget.status]++
		violates = violates || taken[budget.status] > budget.status.DisruptionsAllowed
	}
	return violates
}
