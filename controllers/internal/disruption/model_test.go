package disruption

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/tools/cache"
	"pgregory.net/rapid"

	"minikcm.dev/minikcm/controllers/internal/controllerref"
	"minikcm.dev/minikcm/controllers/internal/disruption/decide"
	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/controllers/internal/modeltest"
	"minikcm.dev/minikcm/controllers/internal/plan"
	"minikcm.dev/minikcm/internal/loop"
)

const (
	historySteps = 150
	ownerUID     = types.UID("owner")
)

// decision calculates a budget's status.
type decision func(in decide.Snapshot, now time.Time) (decide.Plan, error)

// model is a world with a budget, an owner that replaces its pods, a kubelet, and an
// apiserver that evicts as the budget's status allows.
type model struct {
	*modeltest.Run
	t *rapid.T
	// replicas is the wanted number of pods of the owner.
	replicas int
}

// reconciler is the controller with the model's delayed caches.
type reconciler struct {
	m             *model
	decide        decision
	budgets, pods cache.Indexer
	accounts      accounts
	executor      executor.Executor
}

func (r *reconciler) Reconcile(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
	o, found, err := r.budgets.GetByKey(key.String())
	if err != nil || !found {
		return loop.Result{}, err
	}
	in := decide.Snapshot{Budget: o.(*policyv1.PodDisruptionBudget), Scales: map[types.UID]int32{ownerUID: int32(r.m.replicas)}}
	everything, disrupted := labels.Everything(), in.Budget.Status.DisruptedPods
	r.accounts.Read(func(of func(string) *decide.Account) { in.Pods = of("a").Look(everything, disrupted) })
	var pods []*corev1.Pod
	for _, pod := range r.pods.List() {
		pods = append(pods, pod.(*corev1.Pod))
	}
	if diff := cmp.Diff(decide.Survey(pods, everything, disrupted), in.Pods); diff != "" {
		r.m.t.Fatalf("the account differs from the survey (-survey +account):\n%s", diff)
	}
	p, err := r.decide(in, r.m.Clock.Now())
	if err != nil || p.Status == nil {
		return loop.Result{RequeueAfter: p.RequeueAfter}, err
	}
	update := in.Budget.DeepCopy()
	update.Status = *p.Status
	return executor.Settle(loop.Result{RequeueAfter: p.RequeueAfter}, r.executor.WriteStatus(ctx, update))
}

func newModel(t *rapid.T, decide decision) *model {
	m := &model{Run: modeltest.NewRun(func(n int, label string) int { return rapid.IntRange(0, n-1).Draw(t, label) }), t: t}
	m.World.Graceful = func(o plan.Object) bool { _, ok := o.(*corev1.Pod); return ok }
	m.must(m.Actor(Name, func(a *modeltest.Actor) (loop.Reconciler, error) {
		r := &reconciler{
			m: m, decide: decide, budgets: a.Watch(&policyv1.PodDisruptionBudget{}), pods: a.Watch(&corev1.Pod{}),
			accounts: newAccounts(), executor: executor.Executor{Writer: a.Writer(), Parallel: 1},
		}
		wake := func(loop.Event) []types.NamespacedName {
			return []types.NamespacedName{{Namespace: "a", Name: "budget"}}
		}
		a.OnEvent(&policyv1.PodDisruptionBudget{}, wake)
		a.OnEvent(&corev1.Pod{}, wake, r.accounts.Observe)
		return r, nil
	}))
	return m
}

func (m *model) must(err error) {
	if err != nil {
		m.t.Fatal(err)
	}
}

func (m *model) budget() *policyv1.PodDisruptionBudget {
	return modeltest.List[*policyv1.PodDisruptionBudget](m.World)[0]
}

func (m *model) healthy() (n int) {
	modeltest.Each(m.World, func(pod *corev1.Pod) {
		if pod.DeletionTimestamp == nil && controllerref.Ready(pod) {
			n++
		}
	})
	return n
}

// replace creates a missing pod of the owner.
func (m *model) replace(modeltest.Draw) bool {
	active := 0
	modeltest.Each(m.World, func(pod *corev1.Pod) {
		if controllerref.Active(pod) {
			active++
		}
	})
	if active >= m.replicas {
		return false
	}
	yes := true
	_, err := m.World.Create(m.t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "a", GenerateName: "web-", OwnerReferences: []metav1.OwnerReference{{UID: ownerUID, Name: "owner", Controller: &yes}},
	}})
	m.must(err)
	return true
}

// kubelet makes a pod ready, or removes one that is being deleted.
func (m *model) kubelet(draw modeltest.Draw) bool {
	var todo []*corev1.Pod
	for _, pod := range modeltest.List[*corev1.Pod](m.World) {
		if pod.DeletionTimestamp != nil || !controllerref.Ready(pod) {
			todo = append(todo, pod)
		}
	}
	if len(todo) == 0 {
		return false
	}
	pod := todo[draw(len(todo), "pod")]
	if pod.DeletionTimestamp != nil {
		m.World.Remove(pod)
		return true
	}
	m.World.Change(pod, func(o plan.Object) {
		o.(*corev1.Pod).Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	})
	return true
}

// evict evicts a healthy pod as the apiserver does: it checks the budget's status,
// decrements it, records the pod there, and deletes the pod.
func (m *model) evict(draw modeltest.Draw) bool {
	var ready []*corev1.Pod
	for _, pod := range modeltest.List[*corev1.Pod](m.World) {
		if pod.DeletionTimestamp == nil && controllerref.Ready(pod) {
			ready = append(ready, pod)
		}
	}
	b := m.budget()
	if len(ready) == 0 || b.Status.ObservedGeneration < b.Generation || b.Status.DisruptionsAllowed == 0 {
		return false
	}
	pod := ready[draw(len(ready), "evicted")]
	if _, evicted := b.Status.DisruptedPods[pod.Name]; evicted {
		return false
	}
	m.World.Change(b, func(o plan.Object) {
		s := &o.(*policyv1.PodDisruptionBudget).Status
		s.DisruptionsAllowed--
		if s.DisruptedPods == nil {
			s.DisruptedPods = map[string]metav1.Time{}
		}
		s.DisruptedPods[pod.Name] = metav1.NewTime(m.Clock.Now())
	})
	m.must(m.World.Delete(m.t.Context(), pod))
	m.neverViolated(b)
	return true
}

// neverViolated checks that an eviction leaves as many healthy pods as the budget requires.
func (m *model) neverViolated(b *policyv1.PodDisruptionBudget) {
	if left, least := m.healthy(), m.least(b); left < least {
		m.t.Fatalf("an eviction leaves %d healthy pods, at least %d are to be\n%s", left, least, m.dump())
	}
}

// allowsAllThatMayGo checks that the settled status allows as many evictions as possible.
func (m *model) allowsAllThatMayGo() {
	if b := m.budget(); int(b.Status.DisruptionsAllowed) != m.replicas-m.least(b) || len(b.Status.DisruptedPods) > 0 {
		m.t.Fatalf("%d of %d healthy pods may go\n%s", b.Status.DisruptionsAllowed, m.healthy(), m.dump())
	}
}

// least returns the number of healthy pods that the budget requires, calculated
// independently.
func (m *model) least(b *policyv1.PodDisruptionBudget) int {
	if b.Spec.MinAvailable != nil {
		return b.Spec.MinAvailable.IntValue()
	}
	return m.replicas - b.Spec.MaxUnavailable.IntValue()
}

// user changes the budget.
func (m *model) user(draw modeltest.Draw) bool {
	n := intstr.FromInt(draw(m.replicas+1, "limit"))
	most := draw(2, "maxUnavailable") == 1
	m.World.Change(m.budget(), func(o plan.Object) {
		spec := &o.(*policyv1.PodDisruptionBudget).Spec
		spec.MinAvailable, spec.MaxUnavailable = &n, nil
		if most {
			spec.MinAvailable, spec.MaxUnavailable = nil, &n
		}
	})
	return true
}

func (m *model) dump() string {
	b := m.budget()
	text := fmt.Sprintf("budget generation %d spec %+v status %+v\n", b.Generation, b.Spec, b.Status)
	for _, pod := range modeltest.List[*corev1.Pod](m.World) {
		text += fmt.Sprintf("%s ready %v deleted %v\n", pod.Name, controllerref.Ready(pod), pod.DeletionTimestamp != nil)
	}
	return text
}

// TestEvictionsKeepTheBudget checks that no eviction that the status allows leaves fewer
// healthy pods than the budget requires, however late the controller's events are, and that
// in the end the status allows as many as possible.
func TestEvictionsKeepTheBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { evictionsKeepTheBudget(t, decide.Budget) })
}

func evictionsKeepTheBudget(t *rapid.T, decide decision) {
	m := newModel(t, decide)
	m.replicas = rapid.IntRange(1, 8).Draw(t, "replicas")
	none := intstr.FromInt(0)
	_, err := m.World.Create(t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "budget"}, Spec: policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &none},
	})
	m.must(err)
	m.Crashes = true
	for _, act := range []func(modeltest.Draw) bool{m.replace, m.kubelet, m.evict, m.user} {
		m.Other(act)
	}
	m.must(m.Steps(historySteps))
	m.Crashes = false
	first := func(int, string) int { return 0 }
	m.must(m.Settle(20_000, time.Hour, func() bool { return m.replace(first) }, func() bool { return m.kubelet(first) }))
	m.allowsAllThatMayGo()
}

// TestPlantedMistakesAreSeen checks that the property detects wrong decisions.
func TestPlantedMistakesAreSeen(t *testing.T) {
	misreading := func(change func(in *decide.Snapshot)) decision {
		return func(in decide.Snapshot, now time.Time) (decide.Plan, error) {
			in.Budget = in.Budget.DeepCopy()
			change(&in)
			return decide.Budget(in, now)
		}
	}
	for name, mistake := range map[string]struct {
		decide decision
		want   string
	}{
		"evicted pods that are still there count": {misreading(func(in *decide.Snapshot) { in.Budget.Status.DisruptedPods = nil }), "an eviction leaves"},
		"one too many may go": {func(in decide.Snapshot, now time.Time) (decide.Plan, error) {
			p, err := decide.Budget(in, now)
			if p.Status != nil && p.Status.DisruptionsAllowed > 0 {
				p.Status.DisruptionsAllowed++
			}
			return p, err
		}, "healthy pods"},
		"pods that are not ready count":              {misreading(func(in *decide.Snapshot) { in.Pods.Healthy = in.Pods.Number }), "an eviction leaves"},
		"the owner is taken to ask for one pod less": {misreading(func(in *decide.Snapshot) { in.Scales = map[types.UID]int32{ownerUID: in.Scales[ownerUID] - 1} }), "healthy pods"},
		"nothing may ever go": {func(in decide.Snapshot, now time.Time) (decide.Plan, error) {
			p, err := decide.Budget(in, now)
			if p.Status != nil {
				p.Status.DisruptionsAllowed = 0
			}
			return p, err
		}, "may go"},
	} {
		t.Run(name, func(t *testing.T) {
			modeltest.MustBreak(t, mistake.want, func(t *rapid.T) { evictionsKeepTheBudget(t, mistake.decide) })
		})
	}
}
