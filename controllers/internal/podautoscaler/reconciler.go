package podautoscaler

import (
	"context"
	"fmt"
	"slices"
	"sync"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	autoscalinglisters "k8s.io/client-go/listers/autoscaling/v2"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/controllers/internal/plan"
	"minikcm.dev/minikcm/controllers/internal/podautoscaler/decide"
	"minikcm.dev/minikcm/internal/loop"
)

// reconciler reconciles autoscalers.
type reconciler struct {
	opts        decide.Options
	clock       clock.Clock
	autoscalers autoscalinglisters.HorizontalPodAutoscalerLister
	pods        corelisters.PodLister
	targets     targets
	reader      *reader
	executor    executor.Executor

	mu sync.Mutex
	// known holds the state of each autoscaler between reconciles.
	known map[types.NamespacedName]*remembered
}

type remembered struct {
	history decide.History
	// selector is the selector of the target's pods; nil until it is known.
	selector labels.Selector
}

// Reconcile implements loop.Reconciler.
func (r *reconciler) Reconcile(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
	autoscaler, err := r.autoscalers.HorizontalPodAutoscalers(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		r.forget(key)
		return loop.Result{}, nil
	}
	if err != nil {
		return loop.Result{}, fmt.Errorf("getting HorizontalPodAutoscaler %s: %w", key, err)
	}
	in, resource, err := r.gather(ctx, autoscaler)
	if err != nil {
		return loop.Result{}, err
	}
	d := decide.Autoscaler(in, r.clock.Now())
	if d.Rescale != nil {
		err := r.targets.resize(ctx, resource, in.Scale, d.Rescale.To)
		d = decide.Rescaled(in, d, err, r.clock.Now())
	}
	r.remember(key, d.History)
	r.executor.RecordEvents(autoscaler, d.Events)
	if d.Err != nil {
		klog.FromContext(ctx).V(2).Info("Cannot reconcile an autoscaler completely", "err", d.Err)
	}
	if apiequality.Semantic.DeepEqual(&autoscaler.Status, d.Status) {
		return loop.Result{RequeueAfter: d.RequeueAfter}, nil
	}
	update := *autoscaler
	update.Status = *d.Status
	result, err := executor.Settle(loop.Result{RequeueAfter: d.RequeueAfter}, r.executor.WriteStatus(ctx, &update))
	if err != nil {
		r.executor.RecordEvents(autoscaler, []plan.Event{{Type: corev1.EventTypeWarning, Reason: "FailedUpdateStatus", Message: err.Error()}})
	}
	return result, err
}

// gather reads the input of a decision. Errors of the API are part of it.
func (r *reconciler) gather(ctx context.Context, a *autoscalingv2.HorizontalPodAutoscaler) (decide.Snapshot, schema.GroupResource, error) {
	key := types.NamespacedName{Namespace: a.Namespace, Name: a.Name}
	in := decide.Snapshot{Autoscaler: a, Options: r.opts, History: r.recall(key)}
	var resource schema.GroupResource
	in.Scale, resource, in.ScaleErr = r.targets.get(ctx, a.Namespace, a.Spec.ScaleTargetRef)
	if in.ScaleErr != nil || !decide.NeedsMetrics(a, in.Scale) {
		return in, resource, nil
	}
	selector, err := labels.Parse(in.Scale.Status.Selector)
	if err != nil || in.Scale.Status.Selector == "" {
		return in, resource, nil // the decision reports it
	}
	if in.Pods, err = r.pods.Pods(a.Namespace).List(selector); err != nil {
		return in, resource, fmt.Errorf("listing the pods of HorizontalPodAutoscaler %s: %w", key, err)
	}
	if in.Rivals = r.rivals(key, selector, in.Pods); len(in.Rivals) > 1 {
		return in, resource, nil
	}
	in.Readings = make([]decide.Reading, len(a.Spec.Metrics))
	for i := range a.Spec.Metrics {
		in.Readings[i] = r.reader.read(ctx, a.Namespace, selector, &a.Spec.Metrics[i])
	}
	return in, resource, nil
}

func (r *reconciler) recall(key types.NamespacedName) decide.History {
	r.mu.Lock()
	defer r.mu.Unlock()
	if m := r.known[key]; m != nil {
		return m.history
	}
	return decide.History{}
}

func (r *reconciler) remember(key types.NamespacedName, h decide.History) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.of(key).history = h
}

func (r *reconciler) of(key types.NamespacedName) *remembered {
	if r.known[key] == nil {
		r.known[key] = &remembered{}
	}
	return r.known[key]
}

func (r *reconciler) forget(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.known, key)
}

// rivals records an autoscaler's selector, and returns the autoscalers that select any of
// the pods, including itself, in upstream's format.
func (r *reconciler) rivals(key types.NamespacedName, selector labels.Selector, pods []*corev1.Pod) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.of(key).selector = selector
	var names []string
	for other, m := range r.known {
		if other.Namespace != key.Namespace || m.selector == nil {
			continue
		}
		if slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return m.selector.Matches(labels.Set(pod.Labels)) }) {
			names = append(names, fmt.Sprintf("{%s %s}", other.Name, other.Namespace))
		}
	}
	slices.Sort(names)
	return names
}
