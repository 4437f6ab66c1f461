package guard

import (
	"context"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"
	"pgregory.net/rapid"

	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/controllers/internal/modeltest"
	"minikcm.dev/minikcm/controllers/internal/plan"
	"minikcm.dev/minikcm/internal/loop"
)

const (
	finalizer    = "test/guard"
	other        = "test/other"
	historySteps = 150
)

// guarded is the kind of a model: a volume is used while it is bound.
type guarded = Kind[*corev1.PersistentVolume]

// model is a world with volumes, users that change them, and a controller with a finalizer of
// its own.
type model struct {
	*modeltest.Run
	t *rapid.T
}

type reconciler struct{ kind *guarded }

func (r reconciler) Reconcile(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
	_, _, err := r.kind.Reconcile(ctx, key)
	return loop.Result{}, err
}

func newModel(t *rapid.T, mistaken func(*guarded)) *model {
	m := &model{Run: modeltest.NewRun(func(n int, label string) int { return rapid.IntRange(0, n-1).Draw(t, label) }), t: t}
	m.World.Graceful = func(o plan.Object) bool { return len(o.GetFinalizers()) > 0 }
	m.World.AfterWrite = m.finalize
	err := m.Actor("guard", func(a *modeltest.Actor) (loop.Reconciler, error) {
		volumes := corelisters.NewPersistentVolumeLister(a.Watch(&corev1.PersistentVolume{}))
		a.OnEvent(&corev1.PersistentVolume{}, loop.Self)
		kind := &guarded{
			Noun: "volume", Finalizer: finalizer,
			Get: func(key types.NamespacedName) (*corev1.PersistentVolume, error) { return volumes.Get(key.Name) },
			Used: func(_ context.Context, v *corev1.PersistentVolume) (bool, error) {
				return v.Status.Phase == corev1.VolumeBound, nil
			},
			Update: func(ctx context.Context, v *corev1.PersistentVolume) (*corev1.PersistentVolume, error) {
				return m.update(ctx, a.Writer(), v)
			},
		}
		mistaken(kind)
		return reconciler{kind}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	m.Other(m.user)
	return m
}

// update writes a volume, and checks that it is not released while it is used, and that the
// finalizers of others stay.
func (m *model) update(ctx context.Context, w executor.Writer, v *corev1.PersistentVolume) (*corev1.PersistentVolume, error) {
	before, err := w.Get(ctx, v)
	if err != nil {
		return nil, err
	}
	written, err := w.Update(ctx, v, "")
	if err != nil {
		return nil, err
	}
	had := before.(*corev1.PersistentVolume)
	switch {
	case slices.Contains(had.Finalizers, finalizer) && !slices.Contains(v.Finalizers, finalizer) && had.Status.Phase == corev1.VolumeBound:
		m.t.Fatalf("%s was released while it was used", v.Name)
	case slices.Contains(had.Finalizers, other) && !slices.Contains(v.Finalizers, other):
		m.t.Fatalf("%s lost the finalizer of another controller", v.Name)
	}
	return written.(*corev1.PersistentVolume), nil
}

// finalize removes the volumes that are being deleted without finalizers, as the API does.
func (m *model) finalize() {
	for _, v := range modeltest.List[*corev1.PersistentVolume](m.World) {
		if v.DeletionTimestamp != nil && len(v.Finalizers) == 0 {
			m.World.Remove(v)
		}
	}
}

// user creates, uses, releases and deletes volumes, and adds and removes another finalizer.
func (m *model) user(draw modeltest.Draw) bool {
	like := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: []string{"x", "y"}[draw(2, "volume")]}}
	change := func(do func(v *corev1.PersistentVolume)) {
		m.World.Change(like, func(o plan.Object) { do(o.(*corev1.PersistentVolume)) })
	}
	switch draw(6, "user") {
	case 0:
		_, _ = m.World.Create(m.t.Context(), like) // it may exist
	case 1:
		if live, err := m.World.Get(m.t.Context(), like); err == nil {
			_ = m.World.Delete(m.t.Context(), live) // it exists
		}
	case 2:
		change(func(v *corev1.PersistentVolume) {
			if v.DeletionTimestamp == nil {
				v.Status.Phase = corev1.VolumeBound
			}
		})
	case 3:
		change(func(v *corev1.PersistentVolume) { v.Status.Phase = corev1.VolumeReleased })
	case 4:
		change(func(v *corev1.PersistentVolume) {
			if v.DeletionTimestamp == nil && !slices.Contains(v.Finalizers, other) {
				v.Finalizers = append(v.Finalizers, other)
			}
		})
	case 5:
		change(func(v *corev1.PersistentVolume) {
			v.Finalizers = slices.DeleteFunc(v.Finalizers, func(f string) bool { return f == other })
		})
	}
	return true
}

// rightInTheEnd checks that all volumes are protected, and that none stays that could go.
func (m *model) rightInTheEnd() {
	for _, v := range modeltest.List[*corev1.PersistentVolume](m.World) {
		has := slices.Contains(v.Finalizers, finalizer)
		switch {
		case v.DeletionTimestamp == nil && !has:
			m.t.Fatalf("%s is not protected", v.Name)
		case v.DeletionTimestamp != nil && has && v.Status.Phase != corev1.VolumeBound:
			m.t.Fatalf("%s is not released", v.Name)
		}
	}
}

// TestObjectsStayWhileTheyAreUsed checks the guard over interleavings, stale caches and crashes.
func TestObjectsStayWhileTheyAreUsed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { objectsStayWhileTheyAreUsed(t, func(*guarded) {}) })
}

func objectsStayWhileTheyAreUsed(t *rapid.T, mistaken func(*guarded)) {
	m := newModel(t, mistaken)
	m.Crashes = true
	if err := m.Steps(historySteps); err != nil {
		t.Fatal(err)
	}
	m.Crashes = false
	if err := m.Settle(10_000, time.Hour); err != nil {
		t.Fatal(err)
	}
	m.rightInTheEnd()
}

// TestPlantedMistakesAreSeen checks that the properties detect wrong guards.
func TestPlantedMistakesAreSeen(t *testing.T) {
	for name, planted := range map[string]struct {
		mistaken func(*guarded)
		want     string
	}{
		"nothing is used": {func(k *guarded) {
			k.Used = func(context.Context, *corev1.PersistentVolume) (bool, error) { return false, nil }
		}, "was released while it was used"},
		"everything is used": {func(k *guarded) {
			k.Used = func(context.Context, *corev1.PersistentVolume) (bool, error) { return true, nil }
		}, "is not released"},
		"all finalizers go": {func(k *guarded) {
			update := k.Update
			k.Update = func(ctx context.Context, v *corev1.PersistentVolume) (*corev1.PersistentVolume, error) {
				if v.DeletionTimestamp != nil {
					v.Finalizers = nil
				}
				return update(ctx, v)
			}
		}, "lost the finalizer of another controller"},
		"another finalizer is written": {func(k *guarded) { k.Finalizer = "test/typo" }, "is not protected"},
	} {
		t.Run(name, func(t *testing.T) {
			modeltest.MustBreak(t, planted.want, func(t *rapid.T) { objectsStayWhileTheyAreUsed(t, planted.mistaken) })
		})
	}
}
