package disruption

import (
	"context"
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	policylisters "k8s.io/client-go/listers/policy/v1"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/controllers/internal/disruption/decide"
	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/controllers/internal/plan"
	"minikcm.dev/minikcm/controllers/internal/scales"
	"minikcm.dev/minikcm/controllers/internal/tally"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is upstream's name of the controller.
const Name = "disruption-controller"

// Descriptor describes the controller.
func Descriptor() controller.Descriptor {
	return controller.Descriptor{
		Name: Name, Aliases: []string{"disruption"}, Account: "disruption-controller",
		About:   "works out how many pods PodDisruptionBudgets let go",
		Watches: []string{"poddisruptionbudgets", "pods", "replicationcontrollers", "replicasets", "deployments", "statefulsets"},
		Writes:  []string{"poddisruptionbudgets/status", "pods/status"},
		Docs:    "concepts/workloads/pods/disruptions/",
		Build:   build,
	}
}

// Controller maintains the status of budgets. The keys of its first loop are budgets; the keys of
// the second are pods whose disruption has been announced.
type Controller struct {
	clock   clock.Clock
	budgets policylisters.PodDisruptionBudgetLister
	// accounts count the pods of each namespace.
	accounts accounts
	sizes    *sizes
	executor executor.Executor
}

func build(p *controller.Parts) error {
	budgets, pods := p.Informers.PodDisruptionBudgets(), p.Informers.Pods()
	// The informers must be requested before they are started.
	replicaSets, deployments := p.Informers.ReplicaSets().Informer(), p.Informers.Deployments().Informer()
	c := &Controller{
		clock: p.Clock, budgets: budgets.Lister(),
		accounts: newAccounts(),
		executor: executor.Executor{
			Kind: policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"), Writer: executor.NewWriter(p.Client), Recorder: p.Recorder.For("controllermanager"),
		},
	}
	reached, err := scales.New(p.Config)
	if err != nil {
		return err
	}
	c.sizes = &sizes{replicaSets: p.Informers.ReplicaSets().Lister(), deployments: p.Informers.Deployments().Lister(), client: reached}
	l := p.Loop(controller.Each(budgets.Informer(), c.reconcile))
	stale := p.Beside("-stale-pod-disruption", 1, controller.Each(pods.Informer(), c.reconcilePod))
	l.Watch(budgets.Informer(), loop.Self)
	l.Watch(pods.Informer(), c.wakeForPod, c.accounts.Observe)
	l.Watch(replicaSets, loop.None)
	l.Watch(deployments, loop.None)
	stale.Watch(pods.Informer(), wakeAnnounced)
	return nil
}

// accounts hold the pods by namespace.
type accounts = *tally.Tally[*corev1.Pod, *decide.Account]

func newAccounts() accounts { return tally.New((*corev1.Pod).GetNamespace, decide.NewAccount) }

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
	return loop.KeysOf(c.budgets.PodDisruptionBudgets(pod.GetNamespace()).List, func(budget *policyv1.PodDisruptionBudget) bool {
		selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
		return err == nil && selector.Matches(labels.Set(pod.GetLabels()))
	})
}

func wakeAnnounced(ev loop.Event) []types.NamespacedName {
	pod, ok := ev.Object.(*corev1.Pod)
	if !ok || ev.Type == loop.Deleted || decide.Announced(pod) == nil {
		return nil
	}
	return loop.Self(ev)
}

// reconcile updates the status of a budget.
func (c *Controller) reconcile(ctx context.Context, budget *policyv1.PodDisruptionBudget) (loop.Result, error) {
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
func (c *Controller) reconcilePod(ctx context.Context, pod *corev1.Pod) (loop.Result, error) {
	p := decide.TakeBack(pod, c.clock.Now())
	if p.Status == nil {
		return loop.Result{RequeueAfter: p.RequeueAfter}, nil
	}
	update := *pod
	update.Status = *p.Status
	return executor.Settle(loop.Result{}, c.executor.WriteStatus(ctx, &update))
}
