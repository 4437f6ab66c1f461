package daemonset_test

import (
	"flag"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"minikcm.dev/minikcm/controllers/internal/controllerref"
	"minikcm.dev/minikcm/controllers/internal/daemonset"
	"minikcm.dev/minikcm/controllers/internal/daemonset/decide"
	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/controllers/internal/modeltest"
	"minikcm.dev/minikcm/controllers/internal/plan"
	"minikcm.dev/minikcm/internal/loop"
)

var steps = flag.Int("modeltest.steps", 150, "steps that a drawn history has")

// model is a world with the controller, and with a combined scheduler and kubelet.
type model struct {
	*modeltest.Run
	t *rapid.T
}

// decision replaces the controller's decision; nil: the real one.
type decision func(decide.Snapshot, time.Time) (decide.Plan, error)

func newModel(t *rapid.T, nodes int, decide decision) *model {
	run := modeltest.NewRun(func(n int, label string) int { return rapid.IntRange(0, n-1).Draw(t, label) })
	m := &model{Run: run, t: t}
	run.World.Graceful = func(o plan.Object) bool { _, ok := o.(*corev1.Pod); return ok }
	m.must(run.Actor(daemonset.Name, func(a *modeltest.Actor) (loop.Reconciler, error) {
		r, err := daemonset.NewReconciler(daemonset.Sources{
			Clock: run.Clock, DaemonSets: a.Watch(&appsv1.DaemonSet{}), Pods: a.Watch(&corev1.Pod{}),
			Revisions: a.Watch(&appsv1.ControllerRevision{}), Nodes: a.Watch(&corev1.Node{}),
			Executor: executor.Executor{Writer: a.Writer(), Parallel: 1}, Decide: decide,
		})
		if err != nil {
			return nil, err
		}
		a.OnEvent(&appsv1.DaemonSet{}, r.OnDaemonSet)
		a.OnEvent(&corev1.Pod{}, r.OnPod)
		a.OnEvent(&appsv1.ControllerRevision{}, r.OnRevision)
		a.OnEvent(&corev1.Node{}, r.OnNode)
		return r, nil
	}))
	for i := range nodes {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", i), Labels: map[string]string{"run": "yes"}}}
		_, err := run.World.Create(t.Context(), node)
		m.must(err)
	}
	run.Other(func(draw modeltest.Draw) bool { return m.kubelet(draw) })
	return m
}

func (m *model) must(err error) {
	if err != nil {
		m.t.Fatal(err)
	}
}

func (m *model) draw(n int, label string) int { return rapid.IntRange(0, n-1).Draw(m.t, label) }

// kubelet binds a pod and makes it ready, or removes one that is being deleted.
func (m *model) kubelet(draw modeltest.Draw) bool {
	var todo []*corev1.Pod
	for _, pod := range modeltest.List[*corev1.Pod](m.World) {
		if pod.DeletionTimestamp != nil || !controllerref.Ended(pod) && !controllerref.Ready(pod) {
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
	m.World.Change(pod, func(o plan.Object) { o.(*corev1.Pod).Spec.NodeName = target(pod) })
	m.setReady(pod, corev1.ConditionTrue)
	return true
}

// target returns the node that the pod's affinity names.
func target(pod *corev1.Pod) string {
	return pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchFields[0].Values[0]
}

func (m *model) setReady(pod *corev1.Pod, status corev1.ConditionStatus) {
	m.World.Change(pod, func(o plan.Object) {
		p := o.(*corev1.Pod)
		p.Status.Phase = corev1.PodRunning
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status, LastTransitionTime: metav1.NewTime(m.Clock.Now())}}
	})
}

// create creates the DaemonSet and waits for its pods without disturbances.
func (m *model) create(surge, unavailable, minReadySeconds int) {
	labels := map[string]string{"app": "agent"}
	limit := int32(m.draw(4, "history"))
	maxSurge, maxUnavailable := intstr.FromInt(surge), intstr.FromInt(unavailable)
	_, err := m.World.Create(m.t.Context(), &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "agent"},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels}, RevisionHistoryLimit: &limit, MinReadySeconds: int32(minReadySeconds),
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: podSpec("1")},
			UpdateStrategy: appsv1.DaemonSetUpdateStrategy{
				Type:          appsv1.RollingUpdateDaemonSetStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDaemonSet{MaxSurge: &maxSurge, MaxUnavailable: &maxUnavailable},
			},
		},
	})
	m.must(err)
	m.settle()
	m.checkConverged()
}

func podSpec(tag string) corev1.PodSpec {
	return corev1.PodSpec{NodeSelector: map[string]string{"run": "yes"}, Containers: []corev1.Container{{Name: "c", Image: tag}}}
}

func (m *model) settle() {
	first := func(int, string) int { return 0 }
	m.must(m.Settle(20_000, time.Hour, func() bool { return m.kubelet(first) }))
}

func (m *model) set() *appsv1.DaemonSet { return modeltest.List[*appsv1.DaemonSet](m.World)[0] }

func (m *model) rollOut(draw modeltest.Draw) bool {
	tag := fmt.Sprint(draw(4, "image"))
	m.World.Change(m.set(), func(o plan.Object) { o.(*appsv1.DaemonSet).Spec.Template.Spec = podSpec(tag) })
	return true
}

// relabel changes whether a node should have a pod.
func (m *model) relabel(draw modeltest.Draw) bool {
	nodes := modeltest.List[*corev1.Node](m.World)
	m.World.Change(nodes[draw(len(nodes), "node")], func(o plan.Object) {
		node := o.(*corev1.Node)
		node.Labels = map[string]string{"run": []string{"yes", "no"}[draw(2, "run")]}
	})
	return true
}

// disturb changes a pod in a way that the controller does not.
func (m *model) disturb(draw modeltest.Draw) bool {
	pods := modeltest.List[*corev1.Pod](m.World)
	if len(pods) == 0 {
		return false
	}
	pod := pods[draw(len(pods), "whom")]
	switch draw(4, "disturbance") {
	case 0:
		if pod.DeletionTimestamp != nil {
			return false // it could not be adopted
		}
		m.World.Change(pod, func(o plan.Object) { o.SetOwnerReferences(nil) })
	case 1:
		m.must(m.World.Delete(m.t.Context(), pod))
	case 2:
		m.setReady(pod, corev1.ConditionFalse)
	default:
		m.World.Change(pod, func(o plan.Object) { o.(*corev1.Pod).Status.Phase = corev1.PodFailed })
	}
	return true
}

// history takes the drawn steps, then settles the world and checks it.
func (m *model) history() {
	m.must(m.Steps(*steps))
	m.Crashes, m.World.AfterWrite = false, nil
	m.settle()
	m.checkConverged()
}

// wanted returns the nodes that should have a pod.
func (m *model) wanted() map[string]bool {
	nodes := map[string]bool{}
	modeltest.Each(m.World, func(node *corev1.Node) {
		if node.Labels["run"] == "yes" {
			nodes[node.Name] = true
		}
	})
	return nodes
}

// checkConverged checks that each node that should have a pod has a ready one of the newest
// template, that others have none, and that the status agrees.
func (m *model) checkConverged() {
	d, nodes := m.set(), m.wanted()
	pods := modeltest.List[*corev1.Pod](m.World)
	for _, pod := range pods {
		if !nodes[pod.Spec.NodeName] || !controllerref.Active(pod) || !controllerref.Ready(pod) || controllerref.ControllerUID(pod) != d.UID ||
			pod.Spec.Containers[0].Image != d.Spec.Template.Spec.Containers[0].Image {
			m.t.Fatalf("%s is not as it should be\n%s", pod.Name, m.dump())
		}
	}
	n := int32(len(nodes))
	got := d.Status
	if len(pods) != len(nodes) || got.DesiredNumberScheduled != n || got.CurrentNumberScheduled != n || got.NumberAvailable != n || got.NumberReady != n ||
		got.UpdatedNumberScheduled != n || got.NumberMisscheduled != 0 || got.NumberUnavailable != 0 || got.ObservedGeneration != d.Generation {
		m.t.Fatalf("%d pods on %d nodes\n%s", len(pods), n, m.dump())
	}
	revisions := modeltest.List[*appsv1.ControllerRevision](m.World)
	if limit := int(*d.Spec.RevisionHistoryLimit); len(revisions) > limit+1 {
		m.t.Fatalf("%d revisions, of which %d are to be kept besides the one in force", len(revisions), limit)
	}
}

func (m *model) dump() string {
	d := m.set()
	text := fmt.Sprintf("DaemonSet generation %d image %s nodes %v status %+v\n", d.Generation, d.Spec.Template.Spec.Containers[0].Image, m.wanted(), d.Status)
	for _, pod := range modeltest.List[*corev1.Pod](m.World) {
		text += fmt.Sprintf("Pod %s of %q on %q (%s) image %s phase %s ready %v deleted %v\n", pod.Name, controllerref.ControllerUID(pod), pod.Spec.NodeName, target(pod),
			pod.Spec.Containers[0].Image, pod.Status.Phase, controllerref.Ready(pod), pod.DeletionTimestamp != nil)
	}
	return text
}

// TestRolloutKeepsItsLimits checks that at no moment more nodes lack a ready pod than
// maxUnavailable allows, more pods exist than maxSurge allows, or a node has two pods of
// one template.
func TestRolloutKeepsItsLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { rolloutKeepsItsLimits(t, nil) })
}

func rolloutKeepsItsLimits(t *rapid.T, decide decision) {
	nodes := rapid.IntRange(1, 6).Draw(t, "nodes")
	surge, unavailable := rapid.IntRange(0, 3).Draw(t, "surge"), 0
	if surge == 0 {
		unavailable = rapid.IntRange(1, 4).Draw(t, "unavailable")
	}
	m := newModel(t, nodes, decide)
	m.create(surge, unavailable, 0)
	m.World.AfterWrite = func() { m.checkLimits(nodes, surge, unavailable) }
	m.Crashes = true
	m.Other(m.rollOut)
	m.history()
}

func (m *model) checkLimits(nodes, surge, unavailable int) {
	active, ready, templates := 0, map[string]bool{}, map[string]bool{}
	modeltest.Each(m.World, func(pod *corev1.Pod) {
		if !controllerref.Active(pod) {
			return
		}
		active++
		if controllerref.Ready(pod) {
			ready[pod.Spec.NodeName] = true
		}
		template := target(pod) + " " + pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
		if templates[template] {
			m.t.Fatalf("two pods of the same template are on a node: %s\n%s", template, m.dump())
		}
		templates[template] = true
	})
	if active > nodes+surge {
		m.t.Fatalf("%d pods, at most %d+%d are allowed\n%s", active, nodes, surge, m.dump())
	}
	if len(ready) < nodes-unavailable {
		m.t.Fatalf("%d nodes have a ready pod, at least %d-%d are to\n%s", len(ready), nodes, unavailable, m.dump())
	}
}

// TestConvergesAfterChaos also changes nodes, and deletes, fails and orphans pods, and
// checks that the world converges to the spec.
func TestConvergesAfterChaos(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { convergesAfterChaos(t, nil) })
}

func convergesAfterChaos(t *rapid.T, decide decision) {
	surge, unavailable := rapid.IntRange(0, 2).Draw(t, "surge"), 0
	if surge == 0 {
		unavailable = rapid.IntRange(1, 3).Draw(t, "unavailable")
	}
	m := newModel(t, rapid.IntRange(1, 5).Draw(t, "nodes"), decide)
	m.create(surge, unavailable, rapid.IntRange(0, 3).Draw(t, "minReadySeconds"))
	m.Crashes = true
	m.Other(m.rollOut)
	m.Other(m.relabel)
	m.Other(m.disturb)
	m.history()
}

// TestGivenRevision creates a revision for a DaemonSet from outside. It stays until an
// event enqueues the DaemonSet, and then replaces the revision with the same data.
func TestGivenRevision(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(t, 2, nil)
		m.create(0, 1, 0)
		own := modeltest.List[*appsv1.ControllerRevision](m.World)[0]
		given := own.DeepCopy()
		given.Name, given.UID, given.ResourceVersion, given.Revision = "given", "", "", own.Revision+1
		given.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = "given"
		_, err := m.World.Create(t.Context(), given)
		m.must(err)
		m.settle()
		if n := len(modeltest.List[*appsv1.ControllerRevision](m.World)); n != 2 {
			t.Errorf("%d revisions before anything wakes the DaemonSet", n)
		}
		m.World.Change(m.set(), func(o plan.Object) { o.SetAnnotations(map[string]string{"a": "b"}) })
		m.settle()
		if left := modeltest.List[*appsv1.ControllerRevision](m.World); len(left) != 1 || left[0].Name != "given" {
			t.Errorf("%d revisions in the end, the first %s", len(left), left[0].Name)
		}
	})
}
