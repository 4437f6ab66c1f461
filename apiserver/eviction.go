package apiserver

import (
	"context"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/response"
	"minikcm.dev/minikcm/apiserver/storage"
	"minikcm.dev/minikcm/apiserver/strategy"
)

const (
	// maxDisruptedPods caps the unconfirmed evictions of a budget.
	maxDisruptedPods = 2000
	// retryProcessing is the Retry-After, in seconds, for a budget that its controller
	// has not observed yet.
	retryProcessing = 10
	cannotEvict     = "Cannot evict pod as it would violate the pod's disruption budget."
)

var budgetsResource = policyv1.SchemeGroupVersion.WithResource("poddisruptionbudgets")

// TakeDisruption takes one disruption from the PodDisruptionBudget of the request's pod and sets
// the pod's DisruptionTarget condition; the caller deletes the pod afterwards. The error
// says why the pod may not be evicted now (Kubernetes documentation, "API-initiated
// Eviction").
func (rq kindCall) TakeDisruption(ctx context.Context, dryRun bool) error {
	pod, err := rq.evicted(ctx)
	if err != nil {
		return err
	}
	if !goesAnyway(pod) {
		budget, err := rq.budgetOf(ctx, pod)
		if err != nil {
			return err
		}
		if budget != nil {
			if err := rq.takeDisruption(ctx, budget, pod, dryRun); err != nil {
				return err
			}
		}
	}
	if dryRun || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return nil
	}
	return rq.announceEviction(ctx)
}

// evicted returns the pod of the request, which must not be modified. It may come from
// the cache, which is current enough here: most evictions end with a refusal by the
// budget.
func (rq kindCall) evicted(ctx context.Context) (*corev1.Pod, error) {
	obj, err := rq.Objects.Known(ctx, rq.Key())
	if err != nil || obj == nil {
		obj, err = rq.Objects.Get(ctx, rq.Key(), rq.Name)
	}
	if err != nil {
		return nil, err
	}
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return nil, response.NotFound()
	}
	return pod, nil
}

// goesAnyway reports whether evicting the pod disrupts nothing.
func goesAnyway(pod *corev1.Pod) bool {
	switch pod.Status.Phase {
	case corev1.PodSucceeded, corev1.PodFailed, corev1.PodPending:
		return true
	}
	return pod.DeletionTimestamp != nil
}

// budgetOf returns the budget that selects the pod, or nil.
func (rq kindCall) budgetOf(ctx context.Context, pod *corev1.Pod) (*policyv1.PodDisruptionBudget, error) {
	budgets := rq.server.stored[budgetsResource]
	known, err := budgets.KnownIn(ctx, pod.Namespace)
	if err != nil {
		return nil, err
	}
	var found *policyv1.PodDisruptionBudget
	for _, object := range known {
		budget, ok := object.(*policyv1.PodDisruptionBudget)
		if !ok {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
		if err != nil || !selector.Matches(labels.Set(pod.Labels)) {
			continue
		}
		if found != nil {
			return nil, response.NewStatus(http.StatusInternalServerError, metav1.StatusReasonInternalError,
				"This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.")
		}
		found = budget
	}
	return found, nil
}

// takeDisruption records the pod's disruption in the budget's status, if one is left.
// The disruption controller removes the record once the pod is deleted.
func (rq kindCall) takeDisruption(ctx context.Context, budget *policyv1.PodDisruptionBudget, pod *corev1.Pod, dryRun bool) error {
	if goesUnhealthy(budget, pod) {
		return nil
	}
	if err := mayDisrupt(budget); err != nil {
		return err
	}
	budgets := rq.server.stored[budgetsResource]
	change := func(current runtime.Object) (runtime.Object, error) {
		return grantDisruption(current.(*policyv1.PodDisruptionBudget), pod.Name, strategy.Seconds(rq.server.opts.Clock))
	}
	result, err := budgets.Update(ctx, budgets.Key(budget.Namespace, budget.Name), budget.Name, change, storage.UpdateOptions{DryRun: dryRun})
	if apierrors.IsNotFound(err) {
		return nil // the budget has been deleted and forbids nothing any more
	}
	if err == nil && !dryRun && !result.Unchanged {
		rq.RecordOther(budgetsResource, "PodDisruptionBudget", "status", result)
	}
	return err
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

// announceEviction sets the pod's DisruptionTarget condition (KEP-3329).
func (rq kindCall) announceEviction(ctx context.Context) error {
	change := func(current runtime.Object) (runtime.Object, error) {
		pod := current.DeepCopyObject().(*corev1.Pod)
		condition := corev1.PodCondition{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, ObservedGeneration: pod.Generation,
			Reason: "EvictionByEvictionAPI", Message: "Eviction API: evicting", LastTransitionTime: rq.server.preparer.Now(),
		}
		for i := range pod.Status.Conditions {
			if c := &pod.Status.Conditions[i]; c.Type == condition.Type {
				if c.Status == condition.Status {
					condition.LastTransitionTime = c.LastTransitionTime
				}
				*c = condition
				return pod, nil
			}
		}
		pod.Status.Conditions = append(pod.Status.Conditions, condition)
		return pod, nil
	}
	result, err := rq.Objects.Update(ctx, rq.Key(), rq.Name, change, storage.UpdateOptions{})
	if err == nil && !result.Unchanged {
		rq.RecordOther(rq.GVR, rq.Row.Kind, "status", result)
	}
	return err
}
