package modeltest_test

import (
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/tools/cache"
	"pgregory.net/rapid"

	"minikcm.dev/minikcm/controllers/internal/controllerref"
	"minikcm.dev/minikcm/controllers/internal/deployment"
	deploymentdecide "minikcm.dev/minikcm/controllers/internal/deployment/decide"
	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/controllers/internal/modeltest"
	"minikcm.dev/minikcm/controllers/internal/plan"
	"minikcm.dev/minikcm/controllers/internal/replicaset"
	replicasetdecide "minikcm.dev/minikcm/controllers/internal/replicaset/decide"
	"minikcm.dev/minikcm/internal/loop"
)

var steps = flag.Int("modeltest.steps", 150, "steps that a drawn history has")

// cluster is a world with the controllers of Deployments and ReplicaSets, and a kubelet.
type cluster struct {
	*modeltest.Run
	t *rapid.T
}

// planted holds decisions with planted mistakes; a nil function means the real decision.
type planted struct {
	deployment func(deploymentdecide.Snapshot, time.Time) (deploymentdecide.Plan, error)
	replicaSet replicaSetDecision
}

type replicaSetDecision func(replicasetdecide.Snapshot, time.Time) (replicasetdecide.Plan, error)

func newCluster(t *rapid.T, mistakes planted) *cluster {
	run := modeltest.NewRun(func(n int, label string) int { return rapid.IntRange(0, n-1).Draw(t, label) })
	c := &cluster{Run: run, t: t}
	run.World.Graceful = func(o plan.Object) bool { _, ok := o.(*corev1.Pod); return ok }
	executorOf := func(a *modeltest.Actor) executor.Executor { return executor.Executor{Writer: a.Writer(), Parallel: 1} }
	c.must(run.Actor("deployment-controller", func(a *modeltest.Actor) (loop.Reconciler, error) {
		r, err := deployment.NewReconciler(deployment.Sources{
			Clock: run.Clock, Deployments: a.Watch(&appsv1.Deployment{}), ReplicaSets: a.Watch(&appsv1.ReplicaSet{}),
			Executor: executorOf(a), Decide: c.counting(a.Watch(&corev1.Pod{}), mistakes.deployment),
		})
		if err != nil {
			return nil, err
		}
		a.OnEvent(&appsv1.Deployment{}, r.OnDeployment)
		a.OnEvent(&appsv1.ReplicaSet{}, r.OnReplicaSet)
		a.OnEvent(&corev1.Pod{}, r.OnPod, r.ObservePod)
		return r, nil
	}))
	c.must(run.Actor("replicaset-controller", func(a *modeltest.Actor) (loop.Reconciler, error) {
		r, err := replicaset.NewReconciler(replicaset.ReplicaSets(), replicaset.Sources{
			Clock: run.Clock, ReplicaSets: a.Watch(&appsv1.ReplicaSet{}), Executor: executorOf(a), Decide: c.surveying(a.Watch(&corev1.Pod{}), mistakes.replicaSet),
		})
		if err != nil {
			return nil, err
		}
		a.OnEvent(&appsv1.ReplicaSet{}, r.OnReplicaSet)
		a.OnEvent(&corev1.Pod{}, r.OnPod, r.ObservePod)
		return r, nil
	}))
	run.Other(func(draw modeltest.Draw) bool { return c.kubelet(draw) })
	return c
}

// counting returns a decision that compares the numbers of running pods with a count from
// scratch of the cached pods before it calls decide.
func (c *cluster) counting(pods cache.Indexer, decide func(deploymentdecide.Snapshot, time.Time) (deploymentdecide.Plan, error)) func(deploymentdecide.Snapshot, time.Time) (deploymentdecide.Plan, error) {
	if decide == nil {
		decide = deploymentdecide.Deployment
	}
	return func(in deploymentdecide.Snapshot, now time.Time) (deploymentdecide.Plan, error) {
		if in.Running == nil {
			return decide(in, now)
		}
		known, want := map[types.UID]bool{}, map[types.UID]int{}
		for _, rs := range in.ReplicaSets {
			known[rs.UID] = true
		}
		for _, o := range pods.List() {
			if uid := controllerref.ControllerUID(o.(*corev1.Pod)); known[uid] && !controllerref.Ended(o.(*corev1.Pod)) {
				want[uid]++
			}
		}
		if diff := cmp.Diff(want, in.Running); diff != "" {
			c.t.Fatalf("the counts of running pods differ (-from scratch +counted):\n%s", diff)
		}
		return decide(in, now)
	}
}

// surveying returns a decision that compares the account of the pods with a count from scratch of
// the cached pods before it calls decide.
func (c *cluster) surveying(pods cache.Indexer, decide replicaSetDecision) replicaSetDecision {
	if decide == nil {
		decide = replicasetdecide.ReplicaSet
	}
	return func(in replicasetdecide.Snapshot, now time.Time) (replicasetdecide.Plan, error) {
		var all []*corev1.Pod
		for _, o := range pods.List() {
			all = append(all, o.(*corev1.Pod))
		}
		want, active, err := replicasetdecide.Survey(in.ReplicaSet, all, now)
		c.must(err)
		if diff := cmp.Diff(want, in.Pods); diff != "" {
			c.t.Fatalf("the account differs from the survey (-survey +account):\n%s", diff)
		}
		if in.Active != nil && !slices.Equal(active, in.Active) {
			c.t.Fatalf("the account has %d active pods, the survey %d, or others", len(in.Active), len(active))
		}
		return decide(in, now)
	}
}

func (c *cluster) must(err error) {
	if err != nil {
		c.t.Fatal(err)
	}
}

// kubelet makes one pod ready, or removes one that is being deleted.
func (c *cluster) kubelet(draw modeltest.Draw) bool {
	var todo []*corev1.Pod
	for _, pod := range modeltest.List[*corev1.Pod](c.World) {
		if pod.DeletionTimestamp != nil || !controllerref.Ended(pod) && !controllerref.Ready(pod) {
			todo = append(todo, pod)
		}
	}
	if len(todo) == 0 {
		return false
	}
	pod := todo[draw(len(todo), "pod")]
	if pod.DeletionTimestamp != nil {
		c.World.Remove(pod)
		return true
	}
	c.setReady(pod, corev1.ConditionTrue)
	return true
}

func (c *cluster) setReady(pod *corev1.Pod, status corev1.ConditionStatus) {
	c.World.Change(pod, func(o plan.Object) {
		p := o.(*corev1.Pod)
		p.Status.Phase = corev1.PodRunning
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status, LastTransitionTime: metav1.NewTime(c.Clock.Now())}}
	})
}

// create creates the Deployment and waits for its rollout without disturbances.
func (c *cluster) create(spec appsv1.DeploymentSpec) {
	labels := map[string]string{"app": "web"}
	limit, deadline := int32(c.draw(4, "history")), int32(600)
	spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	spec.Template = corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: image("1")}
	spec.RevisionHistoryLimit, spec.ProgressDeadlineSeconds = &limit, &deadline
	_, err := c.World.Create(c.t.Context(), &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "web"}, Spec: spec})
	c.must(err)
	c.settle()
	c.checkConverged()
}

func (c *cluster) draw(n int, label string) int { return rapid.IntRange(0, n-1).Draw(c.t, label) }

func (c *cluster) settle() {
	first := func(int, string) int { return 0 }
	c.must(c.Settle(20_000, time.Hour, func() bool { return c.kubelet(first) }))
}

func image(tag string) corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: tag}}}
}

// user changes the Deployment.
func (c *cluster) user(change func(d *appsv1.Deployment)) bool {
	for _, d := range modeltest.List[*appsv1.Deployment](c.World) {
		c.World.Change(d, func(o plan.Object) { change(o.(*appsv1.Deployment)) })
	}
	return true
}

func (c *cluster) rollOut(draw modeltest.Draw) bool {
	tag := fmt.Sprint(draw(4, "image"))
	return c.user(func(d *appsv1.Deployment) { d.Spec.Template.Spec = image(tag) })
}

func (c *cluster) pause(draw modeltest.Draw) bool {
	paused := draw(2, "paused") == 1
	return c.user(func(d *appsv1.Deployment) { d.Spec.Paused = paused })
}

func (c *cluster) scale(draw modeltest.Draw) bool {
	replicas := int32(draw(12, "replicas"))
	return c.user(func(d *appsv1.Deployment) { d.Spec.Replicas = &replicas })
}

// pods counts the existing, the active and the ready pods.
func (c *cluster) pods() (all, active, ready int) {
	modeltest.Each(c.World, func(pod *corev1.Pod) {
		all++
		if !controllerref.Active(pod) {
			return
		}
		active++
		if controllerref.Ready(pod) {
			ready++
		}
	})
	return all, active, ready
}

// checkOwners checks that no object has two controllers.
func (c *cluster) checkOwners() {
	count := func(o plan.Object) {
		controllers := 0
		for _, ref := range o.GetOwnerReferences() {
			if ref.Controller != nil && *ref.Controller {
				controllers++
			}
		}
		if controllers > 1 {
			c.t.Fatalf("%T %s has %d controllers", o, o.GetName(), controllers)
		}
	}
	modeltest.Each(c.World, func(pod *corev1.Pod) { count(pod) })
	modeltest.Each(c.World, func(rs *appsv1.ReplicaSet) { count(rs) })
}

// checkConverged checks that all pods have the current template and are ready, and that the
// statuses agree.
func (c *cluster) checkConverged() {
	d := modeltest.List[*appsv1.Deployment](c.World)[0]
	wanted := int(*d.Spec.Replicas)
	all, active, ready := c.pods()
	if all != wanted || active != wanted || ready != wanted {
		c.t.Fatalf("%d replicas are wanted; there are %d pods, %d of them active, %d ready\n%s", wanted, all, active, ready, c.dump())
	}
	s := d.Status
	if n := int32(wanted); s.Replicas != n || s.UpdatedReplicas != n || s.AvailableReplicas != n || s.ReadyReplicas != n ||
		s.UnavailableReplicas != 0 || s.ObservedGeneration != d.Generation || *s.TerminatingReplicas != 0 {
		c.t.Fatalf("status = %+v at generation %d, %d replicas are wanted", s, d.Generation, wanted)
	}
	old := 0
	for _, rs := range modeltest.List[*appsv1.ReplicaSet](c.World) {
		if rs.Spec.Template.Spec.Containers[0].Image != d.Spec.Template.Spec.Containers[0].Image {
			old++
		} else if int(*rs.Spec.Replicas) != wanted || rs.Annotations["deployment.kubernetes.io/revision"] != d.Annotations["deployment.kubernetes.io/revision"] {
			c.t.Fatalf("the new ReplicaSet has %d replicas and the annotations %v; the Deployment's are %v", *rs.Spec.Replicas, rs.Annotations, d.Annotations)
		}
	}
	if limit := int(*d.Spec.RevisionHistoryLimit); old > limit {
		c.t.Fatalf("%d old ReplicaSets are left, %d are to be kept", old, limit)
	}
}

// dump describes the world for an error message.
func (c *cluster) dump() string {
	text := ""
	for _, d := range modeltest.List[*appsv1.Deployment](c.World) {
		text += fmt.Sprintf("Deployment generation %d image %s strategy %s status %+v\n", d.Generation, d.Spec.Template.Spec.Containers[0].Image, d.Spec.Strategy.Type, d.Status)
	}
	for _, rs := range modeltest.List[*appsv1.ReplicaSet](c.World) {
		text += fmt.Sprintf("ReplicaSet %s image %s generation %d size %d owners %d annotations %v status %+v\n", rs.Name,
			rs.Spec.Template.Spec.Containers[0].Image, rs.Generation, *rs.Spec.Replicas, len(rs.OwnerReferences), rs.Annotations, rs.Status)
	}
	for _, pod := range modeltest.List[*corev1.Pod](c.World) {
		text += fmt.Sprintf("Pod %s of %s image %s phase %s ready %v deleted %v\n", pod.Name, controllerref.ControllerUID(pod),
			pod.Spec.Containers[0].Image, pod.Status.Phase, controllerref.Ready(pod), pod.DeletionTimestamp != nil)
	}
	return text
}

func between(low, high int) *rapid.Generator[int] { return rapid.IntRange(low, high) }

func number(n int) *intstr.IntOrString {
	v := intstr.FromInt32(int32(n))
	return &v
}

// TestRolloutKeepsItsLimits rolls out and back, pauses and crashes. At no moment may there
// be more pods than maxSurge allows, nor fewer ready ones than maxUnavailable allows.
func TestRolloutKeepsItsLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { rolloutKeepsItsLimits(t, planted{}) })
}

func rolloutKeepsItsLimits(t *rapid.T, mistakes planted) {
	c := newCluster(t, mistakes)
	replicas := between(1, 8).Draw(t, "replicas")
	surge, unavailable := between(0, 4).Draw(t, "surge"), between(0, 4).Draw(t, "unavailable")
	if surge == 0 && unavailable == 0 {
		surge = 1
	}
	n := int32(replicas)
	c.create(appsv1.DeploymentSpec{Replicas: &n, Strategy: appsv1.DeploymentStrategy{
		Type:          appsv1.RollingUpdateDeploymentStrategyType,
		RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: number(surge), MaxUnavailable: number(unavailable)},
	}})
	c.World.AfterWrite = func() {
		c.checkOwners()
		_, active, ready := c.pods()
		if active > replicas+surge {
			t.Fatalf("%d pods, at most %d+%d are allowed", active, replicas, surge)
		}
		if ready < replicas-unavailable {
			t.Fatalf("%d pods are ready, at least %d-%d are to be", ready, replicas, unavailable)
		}
	}
	c.Crashes = true
	c.Other(c.rollOut)
	c.Other(c.pause)
	c.history()
}

// TestRecreateNeverMixes checks that with the strategy Recreate, pods of two templates
// never exist at the same time, terminating ones included.
func TestRecreateNeverMixes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { recreateNeverMixes(t, planted{}) })
}

func recreateNeverMixes(t *rapid.T, mistakes planted) {
	c := newCluster(t, mistakes)
	n := int32(between(1, 5).Draw(t, "replicas"))
	c.create(appsv1.DeploymentSpec{Replicas: &n, Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}})
	c.World.AfterWrite = func() {
		c.checkOwners()
		images := map[string]bool{}
		modeltest.Each(c.World, func(pod *corev1.Pod) { images[pod.Spec.Containers[0].Image] = true })
		if len(images) > 1 {
			t.Fatalf("pods of %d templates exist", len(images))
		}
	}
	c.Crashes = true
	c.Other(c.rollOut)
	c.history()
}

// TestConvergesAfterChaos also scales, deletes, fails and orphans pods and ReplicaSets, and
// checks that the world converges to the spec.
func TestConvergesAfterChaos(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { convergesAfterChaos(t, planted{}) })
}

func convergesAfterChaos(t *rapid.T, mistakes planted) {
	c := newCluster(t, mistakes)
	n := int32(between(0, 8).Draw(t, "replicas"))
	spec := appsv1.DeploymentSpec{Replicas: &n, MinReadySeconds: int32(between(0, 3).Draw(t, "minReadySeconds"))}
	spec.Strategy.Type = appsv1.RollingUpdateDeploymentStrategyType
	spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxSurge: number(between(1, 3).Draw(t, "surge")), MaxUnavailable: number(between(0, 3).Draw(t, "unavailable"))}
	if rapid.Bool().Draw(t, "recreate") {
		spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
	}
	c.create(spec)
	c.World.AfterWrite = c.checkOwners
	c.Crashes = true
	c.Other(c.rollOut)
	c.Other(c.pause)
	c.Other(c.scale)
	c.Other(c.disturb)
	c.history()
}

// disturb changes a pod or a ReplicaSet in a way that no controller does.
func (c *cluster) disturb(draw modeltest.Draw) bool {
	var all []plan.Object
	for _, pod := range modeltest.List[*corev1.Pod](c.World) {
		all = append(all, pod)
	}
	for _, rs := range modeltest.List[*appsv1.ReplicaSet](c.World) {
		all = append(all, rs)
	}
	if len(all) == 0 {
		return false
	}
	o := all[draw(len(all), "whom")]
	pod, isPod := o.(*corev1.Pod)
	switch what := draw(4, "disturbance"); {
	case what == 0:
		c.World.Change(o, func(o plan.Object) { o.SetOwnerReferences(nil) })
	case !isPod:
		return false
	case what == 1:
		c.must(c.World.Delete(c.t.Context(), pod))
	case what == 2:
		c.setReady(pod, corev1.ConditionFalse)
	default:
		c.World.Change(pod, func(o plan.Object) { o.(*corev1.Pod).Status.Phase = corev1.PodFailed })
	}
	return true
}

// history takes the drawn steps, then settles the world and checks it.
func (c *cluster) history() {
	c.must(c.Steps(*steps))
	c.Crashes = false
	c.user(func(d *appsv1.Deployment) { d.Spec.Paused = false })
	c.settle()
	c.collectGarbage()
	c.settle()
	c.checkConverged()
}

// collectGarbage removes the objects that the garbage collectors would remove: pods that have
// ended, pods whose ReplicaSet is gone from the history, and orphans that only such a ReplicaSet
// would have adopted.
func (c *cluster) collectGarbage() {
	hashes, uids := map[string]bool{}, map[types.UID]bool{"": true}
	modeltest.Each(c.World, func(rs *appsv1.ReplicaSet) {
		hashes[rs.Labels[appsv1.DefaultDeploymentUniqueLabelKey]], uids[rs.UID] = true, true
	})
	for _, pod := range modeltest.List[*corev1.Pod](c.World) {
		if controllerref.Ended(pod) || !uids[controllerref.ControllerUID(pod)] || !hashes[pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey]] {
			c.World.Remove(pod)
		}
	}
}
