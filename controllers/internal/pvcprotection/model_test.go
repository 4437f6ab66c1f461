package pvcprotection

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"
	"pgregory.net/rapid"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/controllers/internal/modeltest"
	"minikcm.dev/minikcm/controllers/internal/plan"
	"minikcm.dev/minikcm/controllers/internal/pvcprotection/decide"
	"minikcm.dev/minikcm/internal/loop"
)

const historySteps = 150

// mistake changes the controller of a model.
type mistake func(m *model, c *Controller)

// model is a world with claims, pods that use them, users, a scheduler and kubelets.
type model struct {
	*modeltest.Run
	t *rapid.T
}

// worldAPI is the world as the controller's API. It checks each release of a claim.
type worldAPI struct {
	m      *model
	writer executor.Writer
}

func (a worldAPI) Pods(_ context.Context, namespace string) ([]*corev1.Pod, error) {
	return slices.DeleteFunc(modeltest.List[*corev1.Pod](a.m.World), func(p *corev1.Pod) bool { return p.Namespace != namespace }), nil
}

func (a worldAPI) Update(ctx context.Context, claim *corev1.PersistentVolumeClaim) (*corev1.PersistentVolumeClaim, error) {
	written, err := a.writer.Update(ctx, claim, "")
	if err != nil {
		return nil, err
	}
	a.m.neverInUse(claim)
	return written.(*corev1.PersistentVolumeClaim), nil
}

func (a worldAPI) UpdateStatus(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	_, err := a.writer.Update(ctx, claim, "status")
	return err
}

// neverInUse checks that a claim is not released while a pod on a node names it.
func (m *model) neverInUse(claim *corev1.PersistentVolumeClaim) {
	if slices.Contains(claim.Finalizers, decide.Finalizer) {
		return
	}
	for _, pod := range modeltest.List[*corev1.Pod](m.World) {
		if pod.Spec.NodeName != "" && names(pod, claim.Name) {
			m.t.Fatalf("%s was released while %s used it", claim.Name, pod.Name)
		}
	}
}

// names reports whether a pod has a volume of a claim, by the model.
func names(pod *corev1.Pod, claim string) bool {
	return len(pod.Spec.Volumes) > 0 && pod.Spec.Volumes[0].PersistentVolumeClaim.ClaimName == claim
}

// rightInTheEnd checks that all claims are protected, that none stays that could go, and that the
// condition Unused is right.
func (m *model) rightInTheEnd() {
	pods := modeltest.List[*corev1.Pod](m.World)
	for _, claim := range modeltest.List[*corev1.PersistentVolumeClaim](m.World) {
		used, running := false, false
		for _, pod := range pods {
			used = used || names(pod, claim.Name) && pod.Spec.NodeName != ""
			running = running || names(pod, claim.Name) && pod.Status.Phase != corev1.PodSucceeded
		}
		switch {
		case claim.DeletionTimestamp != nil && !used:
			m.t.Fatalf("%s is still there, and not used", claim.Name)
		case claim.DeletionTimestamp == nil && !slices.Contains(claim.Finalizers, decide.Finalizer):
			m.t.Fatalf("%s is not protected", claim.Name)
		case claim.DeletionTimestamp == nil && claim.Status.Phase == corev1.ClaimBound && unusedOf(claim) != fmt.Sprint(!running):
			m.t.Fatalf("%s has the condition Unused %q, with a pod that runs: %v", claim.Name, unusedOf(claim), running)
		}
	}
}

// unusedOf returns the condition Unused of a claim in lower case.
func unusedOf(claim *corev1.PersistentVolumeClaim) string {
	for _, c := range claim.Status.Conditions {
		if c.Type == corev1.PersistentVolumeClaimUnused {
			return map[corev1.ConditionStatus]string{corev1.ConditionTrue: "true", corev1.ConditionFalse: "false"}[c.Status]
		}
	}
	return ""
}

func newModel(t *rapid.T, mistaken mistake) *model {
	m := &model{Run: modeltest.NewRun(func(n int, label string) int { return rapid.IntRange(0, n-1).Draw(t, label) }), t: t}
	m.World.Graceful = func(o plan.Object) bool { return len(o.GetFinalizers()) > 0 }
	m.World.AfterWrite = m.finalize
	m.must(m.Actor(Name, func(a *modeltest.Actor) (loop.Reconciler, error) {
		claims, pods := a.Watch(&corev1.PersistentVolumeClaim{}), a.Watch(&corev1.Pod{})
		c := newController(passive{clock.Real(), m.Clock}, worldAPI{m, a.Writer()}, corelisters.NewPersistentVolumeClaimLister(claims), corelisters.NewPodLister(pods))
		a.OnEvent(&corev1.PersistentVolumeClaim{}, loop.Self)
		a.OnEvent(&corev1.Pod{}, wakeForPod)
		mistaken(m, c)
		return c, nil
	}))
	m.Other(m.user)
	m.Other(m.scheduler)
	m.Other(m.kubelet)
	return m
}

// passive is a clock that shows a model's time and has no timers.
type passive struct {
	clock.Clock
	now interface{ Now() time.Time }
}

func (p passive) Now() time.Time { return p.now.Now() }

// finalize removes the claims that are being deleted without finalizers, as the API does.
func (m *model) finalize() {
	for _, claim := range modeltest.List[*corev1.PersistentVolumeClaim](m.World) {
		if claim.DeletionTimestamp != nil && len(claim.Finalizers) == 0 {
			m.World.Remove(claim)
		}
	}
}

func (m *model) must(err error) {
	if err != nil {
		m.t.Fatal(err)
	}
}

// user creates and deletes claims and pods, and binds claims.
func (m *model) user(draw modeltest.Draw) bool {
	name := []string{"x", "y"}[draw(2, "claim")]
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: fmt.Sprint("p", draw(3, "pod"))}}
	switch draw(5, "user") {
	case 0:
		_, _ = m.World.Create(m.t.Context(), claim) // it may exist
	case 1:
		m.delete(claim)
	case 2:
		pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}}}
		_, _ = m.World.Create(m.t.Context(), pod) // it may exist
	case 3:
		m.delete(pod)
	case 4:
		m.World.Change(claim, func(o plan.Object) { o.(*corev1.PersistentVolumeClaim).Status.Phase = corev1.ClaimBound })
	}
	return true
}

func (m *model) delete(like plan.Object) {
	if live, err := m.World.Get(m.t.Context(), like); err == nil {
		m.must(m.World.Delete(m.t.Context(), live))
	}
}

// scheduler binds a pod whose claim exists, is not being deleted and is protected.
func (m *model) scheduler(draw modeltest.Draw) bool {
	pods := modeltest.List[*corev1.Pod](m.World)
	if len(pods) == 0 {
		return false
	}
	pod := pods[draw(len(pods), "pod to bind")]
	for _, claim := range modeltest.List[*corev1.PersistentVolumeClaim](m.World) {
		if names(pod, claim.Name) && claim.DeletionTimestamp == nil {
			m.World.Change(pod, func(o plan.Object) { o.(*corev1.Pod).Spec.NodeName = "n" })
			return true
		}
	}
	return false
}

// kubelet ends a pod of a node.
func (m *model) kubelet(draw modeltest.Draw) bool {
	pods := modeltest.List[*corev1.Pod](m.World)
	if len(pods) == 0 {
		return false
	}
	pod := pods[draw(len(pods), "pod to end")]
	if pod.Spec.NodeName == "" {
		return false
	}
	m.World.Change(pod, func(o plan.Object) { o.(*corev1.Pod).Status.Phase = corev1.PodSucceeded })
	return true
}

// TestNoClaimGoesBeforeItsPods checks that no claim is released while a pod on a node uses it,
// and that all claims are right in the end, whatever happens between the controller's writes and
// wherever it crashes.
func TestNoClaimGoesBeforeItsPods(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { noClaimGoesBeforeItsPods(t, func(*model, *Controller) {}) })
}

func noClaimGoesBeforeItsPods(t *rapid.T, mistaken mistake) {
	m := newModel(t, mistaken)
	m.Crashes = true
	m.must(m.Steps(historySteps))
	m.Crashes = false
	m.must(m.Settle(10_000, time.Hour))
	m.rightInTheEnd()
}

// TestPlantedMistakesAreSeen checks that the properties detect wrong controllers.
func TestPlantedMistakesAreSeen(t *testing.T) {
	for name, planted := range map[string]struct {
		mistaken mistake
		want     string
	}{
		"the cache alone decides": {func(_ *model, c *Controller) {
			c.kind.Used = func(_ context.Context, claim *corev1.PersistentVolumeClaim) (bool, error) {
				pods, err := c.pods.Pods(claim.Namespace).List(labels.Everything())
				return decide.InUse(claim, pods), err
			}
		}, "was released while"},
		"nothing uses a claim": {func(_ *model, c *Controller) {
			c.kind.Used = func(context.Context, *corev1.PersistentVolumeClaim) (bool, error) { return false, nil }
		}, "was released while"},
		"everything uses a claim": {func(_ *model, c *Controller) {
			c.kind.Used = func(context.Context, *corev1.PersistentVolumeClaim) (bool, error) { return true, nil }
		}, "is still there, and not used"},
		"new claims are not protected": {func(_ *model, c *Controller) {
			update := c.kind.Update
			c.kind.Update = func(ctx context.Context, claim *corev1.PersistentVolumeClaim) (*corev1.PersistentVolumeClaim, error) {
				if claim.DeletionTimestamp == nil {
					return claim, nil
				}
				return update(ctx, claim)
			}
		}, "is not protected"},
	} {
		t.Run(name, func(t *testing.T) {
			modeltest.MustBreak(t, planted.want, func(t *rapid.T) { noClaimGoesBeforeItsPods(t, planted.mistaken) })
		})
	}
}
