package persistentvolumebinder

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	storagehelpers "k8s.io/component-helpers/storage/volume"
	"pgregory.net/rapid"

	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/controllers/internal/modeltest"
	"minikcm.dev/minikcm/controllers/internal/persistentvolumebinder/decide"
	"minikcm.dev/minikcm/controllers/internal/plan"
	"minikcm.dev/minikcm/internal/loop"
)

const historySteps = 200

// model is a world with claims and volumes, and users who create and delete them.
type model struct {
	*modeltest.Run
	t *rapid.T
	// had maps a claim to the volume that it has named.
	had map[types.UID]string
	// cached are the volumes as the controller's informer has them.
	cached cache.Indexer
}

// mistake wraps the writer of the controller.
type mistake func(m *model, w executor.Writer) executor.Writer

func newModel(t *rapid.T, mistaken mistake) *model {
	m := &model{Run: modeltest.NewRun(func(n int, label string) int { return rapid.IntRange(0, n-1).Draw(t, label) }), t: t, had: map[types.UID]string{}}
	m.World.AfterWrite = func() {
		m.neverTwice()
		m.neverRecycledInUse()
	}
	m.must(m.Actor(Name, func(a *modeltest.Actor) (loop.Reconciler, error) {
		of := caches{a.Watch(&corev1.PersistentVolumeClaim{}), a.Watch(&corev1.PersistentVolume{}), a.Watch(&storagev1.StorageClass{}), a.Watch(&corev1.Pod{})}
		m.cached = of.volumes
		c, err := newController(mistaken(m, a.Writer()), &record.FakeRecorder{}, of)
		if err != nil {
			return nil, err
		}
		a.OnEvent(&corev1.PersistentVolumeClaim{}, c.onClaim)
		a.OnEvent(&corev1.PersistentVolume{}, c.onVolume)
		a.OnEvent(&corev1.Pod{}, c.onPod)
		return c, nil
	}))
	m.Other(m.user)
	m.Other(m.kubelet)
	return m
}

func (m *model) must(err error) {
	if err != nil {
		m.t.Fatal(err)
	}
}

// neverTwice checks that no two claims are bound to one volume, and that no claim moves from
// one volume to another.
func (m *model) neverTwice() {
	of := map[string]string{}
	modeltest.Each(m.World, func(claim *corev1.PersistentVolumeClaim) {
		name := claim.Spec.VolumeName
		if had := m.had[claim.UID]; had != "" && had != name {
			m.t.Fatalf("claim %s moved from volume %s to %q", claim.Name, had, name)
		}
		m.had[claim.UID] = name
		if name == "" || !metav1.HasAnnotation(claim.ObjectMeta, storagehelpers.AnnBindCompleted) {
			return
		}
		if claim.Status.Phase == corev1.ClaimLost {
			return
		}
		if other, taken := of[name]; taken {
			m.t.Fatalf("volume %s is bound to the claims %s and %s", name, other, claim.Name)
		}
		of[name] = claim.Name
	})
}

// neverRecycledInUse checks that a recycler pod that has not ended removes the data of the
// volume's present claim, which is gone.
func (m *model) neverRecycledInUse() {
	claims := map[types.UID]bool{}
	modeltest.Each(m.World, func(claim *corev1.PersistentVolumeClaim) { claims[claim.UID] = true })
	volumes := map[string]*corev1.PersistentVolume{}
	modeltest.Each(m.World, func(volume *corev1.PersistentVolume) { volumes[volume.Name] = volume })
	modeltest.Each(m.World, func(pod *corev1.Pod) {
		volume := volumes[decide.RecycledBy(pod)]
		if volume == nil || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			return
		}
		if ref := volume.Spec.ClaimRef; ref != nil && claims[ref.UID] {
			m.t.Fatalf("volume %s is recycled while claim %s has it", volume.Name, ref.Name)
		}
	})
}

// recycles reports whether a pod removes the data of a volume.
func (m *model) recycles(volume *corev1.PersistentVolume) bool {
	return slices.ContainsFunc(modeltest.List[*corev1.Pod](m.World), func(pod *corev1.Pod) bool {
		return decide.RecycledBy(pod) == volume.Name && pod.Status.Phase == ""
	})
}

// kubelet ends a recycler pod.
func (m *model) kubelet(draw modeltest.Draw) bool {
	for _, pod := range modeltest.List[*corev1.Pod](m.World) {
		if pod.Status.Phase != "" {
			continue
		}
		pod.Status.Phase = []corev1.PodPhase{corev1.PodSucceeded, corev1.PodSucceeded, corev1.PodFailed}[draw(3, "end")]
		_, err := m.World.Update(m.t.Context(), pod, "status")
		m.must(err)
		return true
	}
	return false
}

// user creates and deletes claims and volumes, some of which name each other.
func (m *model) user(draw modeltest.Draw) bool {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: fmt.Sprint("c", draw(3, "claim"))}}
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("v", draw(3, "volume"))}}
	modes, named := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, draw(4, "named") == 0
	switch draw(5, "user") {
	case 0, 1:
		claim.Spec.AccessModes, claim.Spec.Resources.Requests = modes, size(draw)
		if named {
			claim.Spec.VolumeName = volume.Name
		}
		_, _ = m.World.Create(m.t.Context(), claim) // it may exist
	case 2, 3:
		volume.Spec.AccessModes, volume.Spec.Capacity = modes, size(draw)
		if draw(2, "policy") == 0 {
			volume.Spec.PersistentVolumeReclaimPolicy, volume.Spec.HostPath = corev1.PersistentVolumeReclaimRecycle, &corev1.HostPathVolumeSource{Path: "/data"}
		}
		if named {
			volume.Spec.ClaimRef = &corev1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: "a", Name: claim.Name}
		}
		_, _ = m.World.Create(m.t.Context(), volume) // it may exist
	case 4:
		var like plan.Object = claim
		if draw(2, "kind") == 0 {
			like = volume
		}
		live, err := m.World.Get(m.t.Context(), like)
		if v, ok := live.(*corev1.PersistentVolume); err == nil && (!ok || v.Status.Phase != corev1.VolumeBound) {
			m.must(m.World.Delete(m.t.Context(), live))
		}
	}
	return true
}

func size(draw modeltest.Draw) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceStorage: *resource.NewQuantity(int64(1+draw(2, "size")), resource.BinarySI)}
}

// rightInTheEnd checks that bound claims and volumes refer to each other alone, that no volume
// is kept for a claim that has another one, and that no claim waits for a volume that it could
// have.
func (m *model) rightInTheEnd() {
	claims, free := map[types.UID]*corev1.PersistentVolumeClaim{}, int64(0)
	for _, claim := range modeltest.List[*corev1.PersistentVolumeClaim](m.World) {
		claims[claim.UID] = claim
	}
	holder := map[types.UID]string{}
	for _, volume := range modeltest.List[*corev1.PersistentVolume](m.World) {
		ref, want := volume.Spec.ClaimRef, corev1.VolumeAvailable
		switch {
		case ref == nil:
			free = max(free, volume.Spec.Capacity.Storage().Value())
		case ref.UID != "" && claims[ref.UID] == nil:
			want = corev1.VolumeReleased
			if volume.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRecycle {
				want = corev1.VolumeFailed // or the recycling would have ended
				if m.recycles(volume) {
					want = corev1.VolumeReleased
				}
			}
		case ref.UID != "":
			want = corev1.VolumeBound
			if claims[ref.UID].Spec.VolumeName != volume.Name || holder[ref.UID] != "" {
				m.t.Fatalf("volume %s is kept for claim %s, which names %q", volume.Name, ref.Name, claims[ref.UID].Spec.VolumeName)
			}
			holder[ref.UID] = volume.Name
		}
		if volume.Status.Phase != want {
			m.t.Fatalf("volume %s for %v is %s, not %s", volume.Name, ref, volume.Status.Phase, want)
		}
	}
	for _, claim := range claims {
		completed := metav1.HasAnnotation(claim.ObjectMeta, storagehelpers.AnnBindCompleted)
		switch bound := claim.Status.Phase == corev1.ClaimBound; {
		case bound != (completed && holder[claim.UID] != ""):
			m.t.Fatalf("claim %s is %s, and its volume is %q", claim.Name, claim.Status.Phase, holder[claim.UID])
		case claim.Spec.VolumeName == "" && free >= claim.Spec.Resources.Requests.Storage().Value():
			m.t.Fatalf("claim %s waits, and there is a volume for it", claim.Name)
		}
	}
}

func neverBoundTwice(t *rapid.T, mistaken mistake) {
	m := newModel(t, mistaken)
	m.Crashes = true
	m.must(m.Steps(historySteps))
	m.Crashes = false
	m.must(m.Settle(10_000, time.Hour))
	m.rightInTheEnd()
}

func unmistaken(_ *model, w executor.Writer) executor.Writer { return w }

// TestNeverBoundTwice checks that no volume is bound to two claims and no claim to two volumes,
// whatever happens between the controller's writes, however far its caches are behind, and
// wherever it crashes; and that all that can be bound is bound in the end.
func TestNeverBoundTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { neverBoundTwice(t, unmistaken) })
}

// staleVolumes believes the cache about volumes.
type staleVolumes struct {
	executor.Writer
	m *model
}

func (w staleVolumes) Get(ctx context.Context, like plan.Object) (plan.Object, error) {
	if volume, ok := like.(*corev1.PersistentVolume); ok {
		if known, found, err := w.m.cached.GetByKey(volume.Name); found && err == nil {
			return known.(*corev1.PersistentVolume).DeepCopy(), nil
		}
	}
	return w.Writer.Get(ctx, like)
}

// TestModelSeesStaleRecycling plants a controller that recycles a volume because its cache does
// not show yet that the volume has another claim.
func TestModelSeesStaleRecycling(t *testing.T) {
	modeltest.MustBreak(t, "is recycled while claim", func(t *rapid.T) {
		neverBoundTwice(t, func(m *model, w executor.Writer) executor.Writer { return staleVolumes{w, m} })
	})
}
