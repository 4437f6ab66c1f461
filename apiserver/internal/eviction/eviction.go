package eviction

import (
	"context"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver/internal/response"
	"minikcm.dev/minikcm/apiserver/internal/storage"
	"minikcm.dev/minikcm/apiserver/internal/verbs"
	"minikcm.dev/minikcm/internal/reasons"
)

var budgetsResource = policyv1.SchemeGroupVersion.WithResource("poddisruptionbudgets")

// Evictor serves the evictions of an API server.
type Evictor struct {
	// Objects returns the storage of a built-in resource.
	Objects func(resource schema.GroupVersionResource) *storage.Objects
	Now     func() metav1.Time
}

// Evictions serves the eviction that one request asks for.
type Evictions struct {
	rq      *verbs.Call
	evictor *Evictor
}

// Evictions returns the handler of a request's eviction.
func (e *Evictor) Evictions(rq *verbs.Call) Evictions { return Evictions{rq, e} }

// TakeDisruption takes one disruption from the PodDisruptionBudget of the request's pod and sets
// the pod's DisruptionTarget condition; the caller deletes the pod afterwards. The error
// says why the pod may not be evicted now (Kubernetes documentation, "API-initiated
// Eviction").
func (e Evictions) TakeDisruption(ctx context.Context, dryRun bool) error {
	pod, err := e.evicted(ctx)
	if err != nil {
		return err
	}
	if !goesAnyway(pod) {
		budget, err := e.budgetOf(ctx, pod)
		if err != nil {
			return err
		}
		if budget != nil {
			if err := e.takeDisruption(ctx, budget, pod, dryRun); err != nil {
				if apierrors.IsTooManyRequests(err) {
					e.rq.RefuseBy(reasons.Refuser{Kind: reasons.ByBudget, Name: budget.Name}, err)
				}
				return err
			}
		}
	}
	if dryRun || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return nil
	}
	return e.announceEviction(ctx)
}

// evicted returns the pod of the request, which must not be modified. It may come from
// the cache, which is current enough here: most evictions end with a refusal by the
// budget.
func (e Evictions) evicted(ctx context.Context) (*corev1.Pod, error) {
	obj, err := e.rq.Objects.Known(ctx, e.rq.Key())
	if err != nil || obj == nil {
		obj, err = e.rq.Objects.Get(ctx, e.rq.Key(), e.rq.Name)
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

// budgetOf returns the budget that selects the pod, or nil.
func (e Evictions) budgetOf(ctx context.Context, pod *corev1.Pod) (*policyv1.PodDisruptionBudget, error) {
	budgets := e.evictor.Objects(budgetsResource)
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
func (e Evictions) takeDisruption(ctx context.Context, budget *policyv1.PodDisruptionBudget, pod *corev1.Pod, dryRun bool) error {
	if goesUnhealthy(budget, pod) {
		return nil
	}
	if err := mayDisrupt(budget); err != nil {
		return err
	}
	budgets := e.evictor.Objects(budgetsResource)
	change := func(current runtime.Object) (runtime.Object, error) {
		return grantDisruption(current.(*policyv1.PodDisruptionBudget), pod.Name, e.evictor.Now())
	}
	result, err := budgets.Update(ctx, budgets.Key(budget.Namespace, budget.Name), budget.Name, change, storage.UpdateOptions{DryRun: dryRun})
	if apierrors.IsNotFound(err) {
		return nil // the budget has been deleted and forbids nothing any more
	}
	if err == nil && !dryRun && !result.Unchanged {
		e.rq.RecordOther(budgetsResource, "PodDisruptionBudget", "status", result)
	}
	return err
}

// announceEviction sets the pod's DisruptionTarget condition (KEP-3329).
func (e Evictions) announceEviction(ctx context.Context) error {
	change := func(current runtime.Object) (runtime.Object, error) {
		pod := current.DeepCopyObject().(*corev1.Pod)
		condition := corev1.PodCondition{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, ObservedGeneration: pod.Generation,
			Reason: "EvictionByEvictionAPI", Message: "Eviction API: evicting", LastTransitionTime: e.evictor.Now(),
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
	result, err := e.rq.Objects.Update(ctx, e.rq.Key(), e.rq.Name, change, storage.UpdateOptions{})
	if err == nil && !result.Unchanged {
		e.rq.RecordOther(e.rq.GVR, e.rq.Row.Kind, "status", result)
	}
	return err
}
