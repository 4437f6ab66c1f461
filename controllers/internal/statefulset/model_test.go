package statefulset_test

import (
	"flag"
	"fmt"
	"slices"
	"strings"
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
	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/controllers/internal/modeltest"
	"minikcm.dev/minikcm/controllers/internal/plan"
	"minikcm.dev/minikcm/controllers/internal/statefulset"
	"minikcm.dev/minikcm/controllers/internal/statefulset/decide"
	"minikcm.dev/minikcm/internal/loop"
)

var steps = flag.Int("modeltest.steps", 150, "steps that a drawn history has")

// model is a world with the controller, a kubelet and a garbage collector.
type model struct {
	*modeltest.Run
	t *rapid.T
}

// decision replaces the controller's decision; nil: the real one.
type decision func(decide.Snapshot, time.Time) (decide.Plan, error)

func newModel(t *rapid.T, decide decision) *model {
	run := modeltest.NewRun(func(n int, label string) int { return rapid.IntRange(0, n-1).Draw(t, label) })
	m := &model{Run: run, t: t}
	run.World.Graceful = func(o plan.Object) bool { _, ok := o.(*corev1.Pod); return ok }
	m.must(run.Actor(statefulset.Name, func(a *modeltest.Actor) (loop.Reconciler, error) {
		r, err := statefulset.NewReconciler(statefulset.Sources{
			Clock: run.Clock, StatefulSets: a.Watch(&appsv1.StatefulSet{}),
			Revisions: a.Watch(&appsv1.ControllerRevision{}), Claims: a.Watch(&corev1.PersistentVolumeClaim{}),
			Executor: executor.Executor{Writer: a.Writer(), Parallel: 1}, Decide: m.surveying(a.Watch(&corev1.Pod{}), decide),
		})
		if err != nil {
			return nil, err
		}
		a.OnEvent(&appsv1.StatefulSet{}, r.OnStatefulSet)
		a.OnEvent(&corev1.Pod{}, r.OnPod, r.ObservePod)
		a.OnEvent(&appsv1.ControllerRevision{}, r.OnRevision)
		a.OnEvent(&corev1.PersistentVolumeClaim{}, r.OnClaim)
		return r, nil
	}))
	run.Other(func(draw modeltest.Draw) bool { return m.kubelet(draw) })
	run.Other(func(modeltest.Draw) bool { return m.collect() })
	return m
}

// surveying returns a decision that compares the plan made from the account of the pods with the
// plan made from all cached pods, before it calls decision.
func (m *model) surveying(pods cache.Indexer, decision decision) decision {
	if decision == nil {
		decision = decide.StatefulSet
	}
	return func(in decide.Snapshot, now time.Time) (decide.Plan, error) {
		survey := in
		survey.Plain, survey.Pods = decide.Plain{}, nil
		for _, o := range pods.List() {
			if uid := controllerref.ControllerUID(o.(*corev1.Pod)); uid == in.Set.UID || uid == "" {
				survey.Pods = append(survey.Pods, o.(*corev1.Pod))
			}
		}
		slices.SortFunc(survey.Pods, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
		want, wantErr := decide.StatefulSet(survey, now)
		got, err := decide.StatefulSet(in, now)
		if diff := cmp.Diff(want, got); diff != "" || (wantErr == nil) != (err == nil) {
			m.t.Fatalf("the decision on the account differs (-survey +account): %v, %v\n%s", wantErr, err, diff)
		}
		return decision(in, now)
	}
}

func (m *model) must(err error) {
	if err != nil {
		m.t.Fatal(err)
	}
}

func (m *model) draw(n int, label string) int { return rapid.IntRange(0, n-1).Draw(m.t, label) }

// kubelet makes one pod ready, or removes one that is being deleted.
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
	m.setReady(pod, corev1.ConditionTrue)
	return true
}

func (m *model) setReady(pod *corev1.Pod, status corev1.ConditionStatus) {
	m.World.Change(pod, func(o plan.Object) {
		p := o.(*corev1.Pod)
		p.Status.Phase = corev1.PodRunning
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status, LastTransitionTime: metav1.NewTime(m.Clock.Now())}}
	})
}

// collect removes a claim whose last owner is gone.
func (m *model) collect() bool {
	alive := map[types.UID]bool{}
	modeltest.Each(m.World, func(pod *corev1.Pod) { alive[pod.UID] = true })
	modeltest.Each(m.World, func(s *appsv1.StatefulSet) { alive[s.UID] = true })
	for _, claim := range modeltest.List[*corev1.PersistentVolumeClaim](m.World) {
		orphaned := len(claim.OwnerReferences) > 0
		for _, ref := range claim.OwnerReferences {
			orphaned = orphaned && !alive[ref.UID]
		}
		if orphaned {
			m.World.Remove(claim)
			return true
		}
	}
	return false
}

// create creates the StatefulSet and waits for its pods without disturbances.
func (m *model) create(spec appsv1.StatefulSetSpec) {
	labels := map[string]string{"app": "web"}
	limit := int32(m.draw(4, "history"))
	policies := []appsv1.PersistentVolumeClaimRetentionPolicyType{appsv1.RetainPersistentVolumeClaimRetentionPolicyType, appsv1.DeletePersistentVolumeClaimRetentionPolicyType}
	spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	spec.Template = corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: podSpec("1")}
	spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}
	spec.RevisionHistoryLimit = &limit
	spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
		WhenScaled: policies[m.draw(2, "whenScaled")], WhenDeleted: policies[m.draw(2, "whenDeleted")],
	}
	_, err := m.World.Create(m.t.Context(), &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "web"}, Spec: spec})
	m.must(err)
}

func podSpec(tag string) corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: tag}}}
}

func (m *model) settle() {
	first := func(int, string) int { return 0 }
	m.must(m.Settle(20_000, time.Hour, func() bool { return m.kubelet(first) }, m.collect))
}

func (m *model) set() *appsv1.StatefulSet { return modeltest.List[*appsv1.StatefulSet](m.World)[0] }

// user changes the StatefulSet.
func (m *model) user(change func(s *appsv1.StatefulSet)) bool {
	m.World.Change(m.set(), func(o plan.Object) { change(o.(*appsv1.StatefulSet)) })
	return true
}

func (m *model) rollOut(draw modeltest.Draw) bool {
	tag := fmt.Sprint(draw(4, "image"))
	return m.user(func(s *appsv1.StatefulSet) { s.Spec.Template.Spec = podSpec(tag) })
}

func (m *model) scale(draw modeltest.Draw) bool {
	n := int32(draw(6, "replicas"))
	return m.user(func(s *appsv1.StatefulSet) { s.Spec.Replicas = &n })
}

// history takes the drawn steps, then settles the world and checks it.
func (m *model) history() {
	m.steps()
	m.settle()
	m.checkConverged()
}

func (m *model) steps() {
	m.must(m.Steps(*steps))
	m.Crashes, m.World.AfterWrite = false, nil
}

// checkConverged checks that each ordinal has a ready pod of the newest template and a
// claim, that there are no other pods, and that the status agrees.
func (m *model) checkConverged() {
	s := m.set()
	n, from := int(*s.Spec.Replicas), 0
	if s.Spec.Ordinals != nil {
		from = int(s.Spec.Ordinals.Start)
	}
	pods := map[string]*corev1.Pod{}
	modeltest.Each(m.World, func(pod *corev1.Pod) { pods[pod.Name] = pod })
	claims := map[string]bool{}
	modeltest.Each(m.World, func(claim *corev1.PersistentVolumeClaim) { claims[claim.Name] = true })
	for i := from; i < from+n; i++ {
		name := fmt.Sprintf("web-%d", i)
		pod := pods[name]
		if pod == nil || !controllerref.Active(pod) || !controllerref.Ready(pod) || pod.Spec.Containers[0].Image != s.Spec.Template.Spec.Containers[0].Image {
			m.t.Fatalf("%s is not as it should be\n%s", name, m.dump())
		}
		if controllerref.ControllerUID(pod) != s.UID || !claims["data-"+name] {
			m.t.Fatalf("%s is not the set's, or has no claim\n%s", name, m.dump())
		}
	}
	if len(pods) != n {
		m.t.Fatalf("%d pods, %d are wanted\n%s", len(pods), n, m.dump())
	}
	got, want := s.Status, int32(n)
	if got.Replicas != want || got.ReadyReplicas != want || got.AvailableReplicas != want || got.UpdatedReplicas != want || got.CurrentReplicas != want ||
		got.CurrentRevision != got.UpdateRevision || got.ObservedGeneration != s.Generation {
		m.t.Fatalf("status %+v at generation %d", got, s.Generation)
	}
	revisions := modeltest.List[*appsv1.ControllerRevision](m.World)
	if limit := int(*s.Spec.RevisionHistoryLimit); len(revisions) > limit+1 {
		m.t.Fatalf("%d revisions, of which %d are to be kept besides the one in force", len(revisions), limit)
	}
}

// dump describes the world for an error message.
func (m *model) dump() string {
	s := m.set()
	text := fmt.Sprintf("StatefulSet generation %d replicas %d image %s status %+v\n", s.Generation, *s.Spec.Replicas, s.Spec.Template.Spec.Containers[0].Image, s.Status)
	for _, pod := range modeltest.List[*corev1.Pod](m.World) {
		text += fmt.Sprintf("Pod %s of %q image %s phase %s ready %v deleted %v\n", pod.Name, controllerref.ControllerUID(pod),
			pod.Spec.Containers[0].Image, pod.Status.Phase, controllerref.Ready(pod), pod.DeletionTimestamp != nil)
	}
	for _, claim := range modeltest.List[*corev1.PersistentVolumeClaim](m.World) {
		text += fmt.Sprintf("Claim %s of %v\n", claim.Name, claim.OwnerReferences)
	}
	return text
}

// checkOrdinals checks that no two pods have the same ordinal, and that none has more than
// one controller.
func (m *model) checkOrdinals() {
	ordinals := map[string]string{}
	modeltest.Each(m.World, func(pod *corev1.Pod) {
		ordinal := pod.Labels[appsv1.PodIndexLabel]
		if other, taken := ordinals[ordinal]; taken {
			m.t.Fatalf("%s and %s have the ordinal %s", pod.Name, other, ordinal)
		}
		ordinals[ordinal] = pod.Name
		if len(pod.OwnerReferences) > 1 {
			m.t.Fatalf("%s has the owners %v", pod.Name, pod.OwnerReferences)
		}
	})
}

// TestOrderIsKept checks that with OrderedReady a pod is created only when all before it
// are ready, and that no more than maxUnavailable are replaced at a time.
func TestOrderIsKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { orderIsKept(t, nil) })
}

func orderIsKept(t *rapid.T, decide decision) {
	m := newModel(t, decide)
	n, from := int32(rapid.IntRange(1, 5).Draw(t, "replicas")), int32(rapid.IntRange(0, 2).Draw(t, "start"))
	most := intstr.FromInt(rapid.IntRange(1, 2).Draw(t, "maxUnavailable"))
	known := map[types.UID]bool{}
	m.World.AfterWrite = func() {
		m.checkOrdinals()
		ready := map[string]bool{}
		modeltest.Each(m.World, func(pod *corev1.Pod) { ready[pod.Name] = controllerref.Ready(pod) && pod.DeletionTimestamp == nil })
		modeltest.Each(m.World, func(pod *corev1.Pod) {
			if known[pod.UID] {
				return
			}
			known[pod.UID] = true
			for i := from; i < from+n && fmt.Sprintf("web-%d", i) != pod.Name; i++ {
				if !ready[fmt.Sprintf("web-%d", i)] {
					t.Fatalf("%s came before web-%d was ready\n%s", pod.Name, i, m.dump())
				}
			}
		})
	}
	m.create(appsv1.StatefulSetSpec{
		Replicas: &n, Ordinals: &appsv1.StatefulSetOrdinals{Start: from}, PodManagementPolicy: appsv1.OrderedReadyPodManagement,
		UpdateStrategy: appsv1.StatefulSetUpdateStrategy{
			Type: appsv1.RollingUpdateStatefulSetStrategyType, RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{MaxUnavailable: &most},
		},
	})
	m.settle()
	m.limit(int(n) - most.IntValue())
	m.Crashes = true
	m.Other(m.rollOut)
	m.history()
}

// limit adds the check that at least so many pods are ready.
func (m *model) limit(least int) {
	before := m.World.AfterWrite
	m.World.AfterWrite = func() {
		before()
		ready := 0
		modeltest.Each(m.World, func(pod *corev1.Pod) {
			if controllerref.Active(pod) && controllerref.Ready(pod) {
				ready++
			}
		})
		if ready < least {
			m.t.Fatalf("%d pods are ready, at least %d are to be\n%s", ready, least, m.dump())
		}
	}
}

// TestParallelKeepsItsLimit checks that parallel updates respect maxUnavailable too.
func TestParallelKeepsItsLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { parallelKeepsItsLimit(t, nil) })
}

func parallelKeepsItsLimit(t *rapid.T, decide decision) {
	m := newModel(t, decide)
	n := int32(rapid.IntRange(1, 6).Draw(t, "replicas"))
	most := intstr.FromInt(rapid.IntRange(1, 3).Draw(t, "maxUnavailable"))
	m.World.AfterWrite = m.checkOrdinals
	m.create(appsv1.StatefulSetSpec{
		Replicas: &n, PodManagementPolicy: appsv1.ParallelPodManagement,
		UpdateStrategy: appsv1.StatefulSetUpdateStrategy{
			Type: appsv1.RollingUpdateStatefulSetStrategyType, RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{MaxUnavailable: &most},
		},
	})
	m.settle()
	m.limit(int(n) - most.IntValue())
	m.Crashes = true
	m.Other(m.rollOut)
	m.history()
}

// TestClaimsFollowTheirPods checks that with the policy to delete claims when scaled, only
// the claims of existing pods remain. (As upstream, the claim of a pod that was deleted for
// another reason just before remains too.)
func TestClaimsFollowTheirPods(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { claimsFollowTheirPods(t, nil) })
}

func claimsFollowTheirPods(t *rapid.T, decide decision) {
	m := newModel(t, decide)
	n := int32(rapid.IntRange(0, 5).Draw(t, "replicas"))
	m.World.AfterWrite = m.checkOrdinals
	policies := []appsv1.PodManagementPolicyType{appsv1.OrderedReadyPodManagement, appsv1.ParallelPodManagement}
	m.create(appsv1.StatefulSetSpec{
		Replicas: &n, PodManagementPolicy: rapid.SampledFrom(policies).Draw(t, "policy"),
		UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType, RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{}},
	})
	m.settle()
	for range 4 {
		m.scale(m.draw)
		for range *steps / 4 {
			m.Step()
			m.must(m.Err())
		}
		m.settle()
	}
	m.checkConverged()
	claims := len(modeltest.List[*corev1.PersistentVolumeClaim](m.World))
	s := m.set()
	if wanted := int(*s.Spec.Replicas); claims != wanted && s.Spec.PersistentVolumeClaimRetentionPolicy.WhenScaled == appsv1.DeletePersistentVolumeClaimRetentionPolicyType {
		t.Fatalf("%d claims, %d are wanted\n%s", claims, wanted, m.dump())
	}
}

// TestConvergesAfterChaos also scales, deletes, fails and orphans pods, and checks that the
// world converges to the spec.
func TestConvergesAfterChaos(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { convergesAfterChaos(t, nil) })
}

func convergesAfterChaos(t *rapid.T, decide decision) {
	m := newModel(t, decide)
	n := int32(rapid.IntRange(0, 5).Draw(t, "replicas"))
	m.World.AfterWrite = m.checkOrdinals
	policies := []appsv1.PodManagementPolicyType{appsv1.OrderedReadyPodManagement, appsv1.ParallelPodManagement}
	m.create(appsv1.StatefulSetSpec{
		Replicas: &n, PodManagementPolicy: rapid.SampledFrom(policies).Draw(t, "policy"),
		MinReadySeconds: int32(rapid.IntRange(0, 3).Draw(t, "minReadySeconds")),
		UpdateStrategy:  appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType, RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{}},
	})
	m.Crashes = true
	m.Other(m.rollOut)
	m.Other(m.scale)
	m.Other(m.disturb)
	m.steps()
	// With OrderedReady, several broken surplus pods block each other, as upstream. Among
	// six replicas none is surplus.
	final := *m.set().Spec.Replicas
	m.scale(func(n int, _ string) int { return n })
	m.settle()
	m.checkConverged()
	m.user(func(s *appsv1.StatefulSet) { s.Spec.Replicas = &final })
	m.settle()
	m.checkConverged()
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
