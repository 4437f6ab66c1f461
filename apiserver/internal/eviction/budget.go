package eviction

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// maxDisruptedPods caps the unconfirmed evictions of a budget.
	maxDisruptedPods = 2000
	// retryProcessing is the Retry-After, in seconds, for a budget that its controller
	// has not observed yet.
	retryProcessing = 10
	cannotEvict     = "Cannot evict pod as it would violate the pod's disruption budget."
)

// goesAnyway reports whether evicting the pod disrupts nothing.
func goesAnyway(pod *corev1.Pod) bool {
	switch pod.Status.Phase {
	case corev1.PodSucceeded, corev1.PodFailed, corev1.PodPending:
		return true
	}
	return pod.DeletionTimestamp != nil
}

// goesUnhealthy reports whether the budget's policy allows evicting a pod because it is
// not healthy (KEP-3017).
func goesUnhealthy(budget *policyv1.PodDisruptionBudget, pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue {
			return false
		}
	}
	if policy := budget.Spec.UnhealthyPodEvictionPolicy; policy != nil && *policy == policyv1.AlwaysAllow {
		return true
	}
	return budget.Status.CurrentHealthy >= budget.Status.DesiredHealthy && budget.Status.DesiredHealthy > 0
}

// grantDisruption returns the budget with one disruption less, or the error that none is
// left.
func grantDisruption(budget *policyv1.PodDisruptionBudget, pod string, now metav1.Time) (*policyv1.PodDisruptionBudget, error) {
	if err := mayDisrupt(budget); err != nil {
		return nil, err
	}
	granted := budget.DeepCopy()
	granted.Status.DisruptionsAllowed--
	if granted.Status.DisruptionsAllowed == 0 {
		setDisruptionAllowed(&granted.Status, now)
	}
	if granted.Status.DisruptedPods == nil {
		granted.Status.DisruptedPods = map[string]metav1.Time{}
	}
	granted.Status.DisruptedPods[pod] = now
	return granted, nil
}

// mayDisrupt returns why no disruption is left, or nil.
func mayDisrupt(budget *policyv1.PodDisruptionBudget) error {
	status := &budget.Status
	switch {
	case status.ObservedGeneration < budget.Generation:
		return tooManyDisruptions(retryProcessing, fmt.Sprintf("The disruption budget %s is still being processed by the server.", budget.Name))
	case status.DisruptionsAllowed < 0:
		return apierrors.NewForbidden(budgetsResource.GroupResource(), budget.Name, fmt.Errorf("pdb disruptions allowed is negative"))
	case len(status.DisruptedPods) > maxDisruptedPods:
		return apierrors.NewForbidden(budgetsResource.GroupResource(), budget.Name, fmt.Errorf("DisruptedPods map too big - too many evictions not confirmed by PDB controller")) // the API's text
	case status.DisruptionsAllowed == 0:
		return tooManyDisruptions(0, fmt.Sprintf("The disruption budget %s needs %d healthy pods and has %d currently", budget.Name, status.DesiredHealthy, status.CurrentHealthy))
	}
	return nil
}

// setDisruptionAllowed sets the condition DisruptionAllowed to false when no disruption
// is left.
func setDisruptionAllowed(status *policyv1.PodDisruptionBudgetStatus, now metav1.Time) {
	for i := range status.Conditions {
		c := &status.Conditions[i]
		if c.Type == policyv1.DisruptionAllowedCondition && c.Status != metav1.ConditionFalse {
			c.Status, c.Reason, c.LastTransitionTime = metav1.ConditionFalse, policyv1.InsufficientPodsReason, now
		}
	}
}

func tooManyDisruptions(retryAfter int, cause string) error {
	err := apierrors.NewTooManyRequests(cannotEvict, retryAfter)
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{Type: policyv1.DisruptionBudgetCause, Message: cause})
	return err
}
