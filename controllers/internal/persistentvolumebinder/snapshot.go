package persistentvolumebinder

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	storagehelpers "k8s.io/component-helpers/storage/volume"

	"minikcm.dev/minikcm/controllers/internal/persistentvolumebinder/decide"
	"minikcm.dev/minikcm/controllers/internal/plan"
)

// snapshot reads the state for one reconcile: the caches, overlaid with the objects that the
// reconcile has written or read from the API.
type snapshot struct {
	*Controller
	keptVolumes map[string]*corev1.PersistentVolume
	keptClaims  map[types.NamespacedName]*corev1.PersistentVolumeClaim
	keptPods    map[string]*corev1.Pod
}

func newSnapshot(c *Controller) *snapshot {
	return &snapshot{
		Controller: c, keptVolumes: map[string]*corev1.PersistentVolume{}, keptClaims: map[types.NamespacedName]*corev1.PersistentVolumeClaim{},
		keptPods: map[string]*corev1.Pod{},
	}
}

// keep makes an object replace the one in the cache.
func (s *snapshot) keep(o plan.Object) {
	switch o := o.(type) {
	case *corev1.PersistentVolume:
		s.keptVolumes[o.Name] = o
	case *corev1.PersistentVolumeClaim:
		s.keptClaims[types.NamespacedName{Namespace: o.Namespace, Name: o.Name}] = o
	case *corev1.Pod:
		s.keptPods[o.Name] = o
	}
}

// volume returns a volume; nil: there is none.
func (s *snapshot) volume(name string) *corev1.PersistentVolume {
	if kept, ok := s.keptVolumes[name]; ok {
		return kept
	}
	return s.volumes.Get(name)
}

// claim returns a claim; nil: there is none.
func (s *snapshot) claim(key types.NamespacedName) *corev1.PersistentVolumeClaim {
	if kept, ok := s.keptClaims[key]; ok {
		return kept
	}
	return s.claims.Get(key)
}

// recycler returns the recycler pod of a volume; nil: there is none.
func (s *snapshot) recycler(volume string) *corev1.Pod {
	name := decide.RecyclerName(volume)
	if kept, ok := s.keptPods[name]; ok {
		return kept
	}
	return s.pods.Get(types.NamespacedName{Namespace: decide.RecyclerNamespace, Name: name})
}

// recycling gathers the inputs for recycling a volume. It returns the volume as the API
// has it if a recycler pod may have to be created.
func (s *snapshot) recycling(ctx context.Context, volume *corev1.PersistentVolume) (*corev1.PersistentVolume, decide.Recycling, error) {
	r := decide.Recycling{Recycler: s.recycler(volume.Name)}
	if !decide.IsRecycled(volume) || volume.Spec.ClaimRef == nil {
		return volume, r, nil
	}
	if r.Recycler == nil {
		live, err := s.writer.Get(ctx, &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: volume.Name}})
		if apierrors.IsNotFound(err) {
			return nil, r, nil
		}
		if err != nil {
			return nil, r, fmt.Errorf("getting volume %s, to recycle it: %w", volume.Name, err)
		}
		s.keep(live)
		volume = s.volume(volume.Name)
	}
	if ref := volume.Spec.ClaimRef; ref != nil {
		for _, pod := range s.pods.Using(types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}) {
			if pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
				r.Users = append(r.Users, pod)
			}
		}
	}
	return volume, r, nil
}

// nextOfVolume returns the next step of a volume.
func (s *snapshot) nextOfVolume(ctx context.Context, name string) (decide.Step, error) {
	volume := s.volume(name)
	if volume == nil {
		return decide.Forget(s.recycler(name)), nil
	}
	volume, recycling, err := s.recycling(ctx, volume)
	if volume == nil || err != nil {
		return decide.Step{}, err
	}
	claim, err := s.claimOf(ctx, volume)
	if err != nil {
		return decide.Step{}, err
	}
	return decide.Volume(volume, claim, recycling), nil
}

// claimed gathers the inputs of the binding of a claim. Its Claim is nil if there is none.
func (s *snapshot) claimed(ctx context.Context, key types.NamespacedName) (decide.Claimed, error) {
	claim := s.claim(key)
	if claim == nil {
		return decide.Claimed{}, nil
	}
	c := decide.Claimed{Claim: claim}
	if claim.Spec.VolumeName != "" {
		var err error
		c.Volume, err = s.named(ctx, claim)
		return c, err
	}
	for _, volume := range append(s.volumes.Free(storagehelpers.GetPersistentVolumeClaimClass(claim)), s.volumes.For(key)...) {
		c.Candidates = append(c.Candidates, cmp.Or(s.keptVolumes[volume.Name], volume))
	}
	sortByName(c.Candidates)
	for _, o := range s.classes.List() {
		if class, ok := o.(*storagev1.StorageClass); ok {
			c.Classes = append(c.Classes, class)
		}
	}
	return c, nil
}

// named returns the volume that a claim names; nil: there is none. A bound claim becomes Lost
// only if the API does not have its volume: a cache that is behind may not have it yet.
func (s *snapshot) named(ctx context.Context, claim *corev1.PersistentVolumeClaim) (*corev1.PersistentVolume, error) {
	name := claim.Spec.VolumeName
	known := s.volume(name)
	if known != nil || claim.Status.Phase == corev1.ClaimLost || !metav1.HasAnnotation(claim.ObjectMeta, storagehelpers.AnnBindCompleted) {
		return known, nil
	}
	live, err := s.writer.Get(ctx, &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("getting volume %s of claim %s/%s: %w", name, claim.Namespace, claim.Name, err)
	}
	s.keep(live)
	return s.volume(name), nil
}

func sortByName(volumes []*corev1.PersistentVolume) {
	slices.SortFunc(volumes, func(a, b *corev1.PersistentVolume) int { return cmp.Compare(a.Name, b.Name) })
}

// claimOf returns the claim that a volume refers to; nil: there is none. It trusts the cache only
// about facts that cannot change again: a cache that is behind does not have a new claim yet.
func (s *snapshot) claimOf(ctx context.Context, volume *corev1.PersistentVolume) (*corev1.PersistentVolumeClaim, error) {
	ref := volume.Spec.ClaimRef
	if ref == nil || ref.UID == "" {
		return nil, nil
	}
	if claim := s.claim(types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}); claim != nil && claim.UID == ref.UID {
		return claim, nil
	}
	live, err := s.writer.Get(ctx, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: ref.Namespace, Name: ref.Name}})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("getting claim %s/%s of volume %s: %w", ref.Namespace, ref.Name, volume.Name, err)
	}
	s.keep(live)
	claim, ok := live.(*corev1.PersistentVolumeClaim)
	if !ok {
		return nil, fmt.Errorf("getting claim %s/%s of volume %s: the API has returned a %T", ref.Namespace, ref.Name, volume.Name, live)
	}
	return claim, nil
}
