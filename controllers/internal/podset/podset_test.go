package podset_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"minikcm.dev/minikcm/controllers/internal/controllerref"
	"minikcm.dev/minikcm/controllers/internal/podset"
)

// phases counts pods by phase.
type phases struct {
	podset.Owned[corev1.PodPhase]
	counts map[corev1.PodPhase]int
}

func newPhases() *phases {
	p := &phases{counts: map[corev1.PodPhase]int{}}
	p.Owned = podset.New[corev1.PodPhase](p)
	return p
}

func (p *phases) Add(_ types.NamespacedName, e *podset.Entry[corev1.PodPhase]) {
	e.Status = e.Pod.Status.Phase
	p.counts[e.Status]++
}

func (p *phases) Remove(_ types.NamespacedName, e *podset.Entry[corev1.PodPhase]) {
	p.counts[e.Status]--
}

func drawnPod(t *rapid.T, controller types.UID) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: rapid.SampledFrom([]string{"a", "a", "b"}).Draw(t, "namespace"), Name: rapid.SampledFrom([]string{"p1", "p2", "p3"}).Draw(t, "name"),
		Labels: map[string]string{"app": rapid.SampledFrom([]string{"web", "db"}).Draw(t, "app")},
	}}
	pod.Status.Phase = rapid.SampledFrom([]corev1.PodPhase{corev1.PodPending, corev1.PodRunning}).Draw(t, "phase")
	if rapid.Bool().Draw(t, "deleted") {
		pod.DeletionTimestamp = &metav1.Time{}
	}
	if controller != "" {
		pod.OwnerReferences = []metav1.OwnerReference{{UID: controller, Controller: ptr.To(true)}}
	}
	return pod
}

// TestOwnedAgreesWithClaim compares owned pods with the result of controllerref.Claim for all pods,
// after every change of a pod, of the owner and of its selector.
func TestOwnedAgreesWithClaim(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		owner := &metav1.ObjectMeta{Namespace: "a", UID: "owner"}
		own, orphans := newPhases(), newPhases()
		shown := map[*phases]map[types.NamespacedName]*corev1.Pod{own: {}, orphans: {}}
		selector := labels.SelectorFromSet(labels.Set{"app": "web"})
		own.Recount(selector)
		for range 40 {
			into, controller := own, owner.UID
			if rapid.Bool().Draw(t, "orphan") {
				into, controller = orphans, ""
			}
			pod := drawnPod(t, controller)
			key := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
			switch rapid.IntRange(0, 5).Draw(t, "change") {
			case 0:
				into.Unset(key)
				delete(shown[into], key)
			case 1:
				selector = labels.SelectorFromSet(labels.Set{"app": rapid.SampledFrom([]string{"web", "db"}).Draw(t, "selector")})
				clear(own.counts)
				own.Recount(selector)
			case 2:
				owner.DeletionTimestamp = nil
				if rapid.Bool().Draw(t, "owner deleted") {
					owner.DeletionTimestamp = &metav1.Time{}
				}
			default:
				into.Set(pod)
				shown[into][key] = pod
			}
			var all []*corev1.Pod
			for _, pods := range shown {
				for _, pod := range pods {
					all = append(all, pod)
				}
			}
			compare(t, own, orphans, owner, controllerref.Claim(owner, selector, all))
		}
	})
}

func compare(t *rapid.T, own, orphans *phases, owner metav1.Object, want controllerref.Claims[*corev1.Pod]) {
	podset.SortByName(want.Adopt)
	podset.SortByName(want.Release)
	adopt, release := own.Claim(owner, &orphans.Owned)
	if !slices.Equal(adopt, want.Adopt) || !slices.Equal(release, want.Release) {
		t.Fatalf("Claim() adopts %d and releases %d, want %d and %d", len(adopt), len(release), len(want.Adopt), len(want.Release))
	}
	counts := map[corev1.PodPhase]int{}
	for _, pod := range want.Owned {
		if controllerref.ControllerUID(pod) != "" {
			counts[pod.Status.Phase]++
		}
	}
	for _, phase := range []corev1.PodPhase{corev1.PodPending, corev1.PodRunning} {
		if own.counts[phase] != counts[phase] {
			t.Fatalf("the sum of %s is %d, want %d", phase, own.counts[phase], counts[phase])
		}
		if n := len(own.Pods(func(e *podset.Entry[corev1.PodPhase]) bool { return e.Status == phase })); n != counts[phase] {
			t.Fatalf("Pods() has %d of %s, want %d", n, phase, counts[phase])
		}
	}
}
