package disruption

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"
	policylisters "k8s.io/client-go/listers/policy/v1"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/controllers/internal/disruption/decide"
	"minikcm.dev/minikcm/controllers/internal/env"
	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/controllers/internal/plan"
	"minikcm.dev/minikcm/controllers/internal/scales"
	"minikcm.dev/minikcm/controllers/internal/tally"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is upstream's name of the controller.
const Name = "disruption-controller"

// Controller maintains the status of budgets. The keys of its first loop are budgets; the keys of
// the second are pods whose disruption has been announced.
type Controller struct {
	clock   clock.Clock
	budgets policylisters.PodDisruptionBudgetLister
	pods    corelisters.PodLister
	// accounts count the pods of each namespace.
	accounts accounts
	sizes    *sizes
	executor executor.Executor
	loop     loop.Loop
	stale    loop.Loop
}

// New returns a controller. Run starts it.
func New(_ context.Context, e *env.Env) (*Controller, error) {
	client, config, err := e.ClientFor(Name)
	if err != nil {
		return nil, err
	}
	budgets, pods := e.Informers.PodDisruptionBudgets(), e.Informers.Pods()
	// The informers must be requested before they are started.
	replicaSets, deployments := e.Informers.ReplicaSets().Informer(), e.Informers.Deployments().Informer()
	c := &Controller{
		clock: e.Clock, budgets: budgets.Lister(), pods: pods.Lister(),
		accounts: newAccounts(),
		executor: executor.Executor{
			Kind: policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"), Writer: executor.NewWriter(client), Recorder: e.Recorder.For("controllermanager"),
		},
	}
	reached, err := scales.New(config)
	if err != nil {
		return nil, err
	}
	c.sizes = &sizes{replicaSets: e.Informers.ReplicaSets().Lister(), deployments: e.Informers.Deployments().Lister(), client: reached}
	c.loop = loop.New(e.Loop(Name, 1), loop.Func(c.reconcile))
	c.stale = loop.New(e.Loop(Name+"-stale-pod-disruption", 1), loop.Func(c.reconcilePod))
	c.loop.Watch(budgets.Informer(), loop.Self)
	c.loop.Watch(pods.Informer(), c.wakeForPod, c.accounts.Observe)
	c.loop.Watch(replicaSets, loop.None)
	c.loop.Watch(deployments, loop.None)
	c.stale.Watch(pods.Informer(), wakeAnnounced)
	return c, nil
}

// accounts hold the pods by namespace.
type accounts = *tally.Tally[*corev1.Pod, *decide.Account]

func newAccounts() accounts { return tally.New((*corev1.Pod).GetNamespace, decide.NewAccount) }

// Run works until ctx ends.
func (c *Controller) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stale := make(chan error, 1)
	go func() {
		defer cancel()
		stale <- c.stale.Run(ctx)
	}()
	err := c.loop.Run(ctx)
	cancel()
	return errors.Join(err, <-stale)
}

// Stats returns the counters of the controller's loop.
func (c *Controller) Stats() loop.Stats { return c.loop.Stats() }

// wakeForPod enqueues the budgets that select the pod, or selected it before.
func (c *Controller) wakeForPod(ev loop.Event) []types.NamespacedName {
	keys := c.budgetsOf(ev.Object)
	if pod, ok := ev.Object.(*corev1.Pod); ok && len(keys) > 1 && ev.Type != loop.Deleted {
		c.executor.RecordEvents(pod, []plan.Event{decide.AmbiguousEvent(pod, keys)})
	}
	if ev.Old != nil && !reflect.DeepEqual(ev.Old.GetLabels(), ev.Object.GetLabels()) {
		keys = append(keys, c.budgetsOf(ev.Old)...)
	}
	return keys
}

func (c *Controller) budgetsOf(pod metav1.Object) []types.NamespacedName {
	budgets, err := c.budgets.PodDisruptionBudgets(pod.GetNamespace()).List(labels.Everything())
	if err != nil {
		return nil
	}
	var keys []types.NamespacedName
	for _, budget := range budgets {
		if selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector); err == nil && selector.Matches(labels.Set(pod.GetLabels())) {
			keys = append(keys, types.NamespacedName{Namespace: budget.Namespace, Name: budget.Name})
		}
	}
	return keys
}

func wakeAnnounced(ev loop.Event) []types.NamespacedName {
	pod, ok := ev.Object.(*corev1.Pod)
	if !ok || ev.Type == loop.Deleted || decide.Announced(pod) == nil {
		return nil
	}
	return loop.Self(ev)
}

// reconcile updates the status of a budget.
func (c *Controller) reconcile(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
	budget, err := c.budgets.PodDisruptionBudgets(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		return loop.Result{}, nil
	}
	if err != nil {
		return loop.Result{}, fmt.Errorf("getting PodDisruptionBudget %s: %w", key, err)
	}
	in, err := c.gather(ctx, budget)
	if err != nil {
		return loop.Result{}, err
	}
	p, decideErr := decide.Budget(in, c.clock.Now())
	c.executor.RecordEvents(budget, p.Events)
	for _, pod := range p.Overdue {
		c.executor.RecordEvents(pod, []plan.Event{decide.OverdueEvent(budget)})
	}
	if p.Status != nil {
		update := *budget
		update.Status = *p.Status
		// A conflict means that an eviction was granted meanwhile: its event enqueues the
		// key.
		err = c.executor.WriteStatus(ctx, &update)
	}
	return executor.Settle(loop.Result{RequeueAfter: p.RequeueAfter}, decideErr, err)
}

func (c *Controller) gather(ctx context.Context, budget *policyv1.PodDisruptionBudget) (decide.Snapshot, error) {
	selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
	if err != nil {
		return decide.Snapshot{}, fmt.Errorf("reading the selector of PodDisruptionBudget %s/%s: %w", budget.Namespace, budget.Name, err)
	}
	in := decide.Snapshot{Budget: budget}
	c.accounts.Read(func(of func(namespace string) *decide.Account) {
		in.Pods = of(budget.Namespace).Look(selector, budget.Status.DisruptedPods)
	})
	if decide.NeedsScales(budget) {
		in.Scales, in.Sizeless, err = c.sizes.of(ctx, in.Pods.Controlled)
	}
	return in, err
}

// reconcilePod withdraws the announcement of a disruption that did not happen.
func (c *Controller) reconcilePod(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
	pod, err := c.pods.Pods(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		return loop.Result{}, nil
	}
	if err != nil {
		return loop.Result{}, fmt.Errorf("getting pod %s: %w", key, err)
	}
	p := decide.TakeBack(pod, c.clock.Now())
	if p.Status == nil {
		return loop.Result{RequeueAfter: p.RequeueAfter}, nil
	}
	update := *pod
	update.Status = *p.Status
	return executor.Settle(loop.Result{}, c.executor.WriteStatus(ctx, &update))
}
