package volumeindex

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	storagehelpers "k8s.io/component-helpers/storage/volume"
)

// The names of the indexes.
const (
	volumesByClaim = "minikcm.dev/volumes-by-claim"
	freeByClass    = "minikcm.dev/free-volumes-by-class"
	claimsByVolume = "minikcm.dev/claims-by-volume"
	claimsByClass  = "minikcm.dev/unbound-claims-by-class"
)

// Volumes is a cache of PersistentVolumes.
type Volumes struct{ indexer cache.Indexer }

// NewVolumes adds the indexes to a cache of volumes, unless another controller has added them.
func NewVolumes(indexer cache.Indexer) (Volumes, error) {
	err := add(indexer, volumesByClaim, func(v *corev1.PersistentVolume) (string, bool) {
		if ref := v.Spec.ClaimRef; ref != nil {
			return types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}.String(), true
		}
		return "", false
	})
	if err != nil {
		return Volumes{}, err
	}
	return Volumes{indexer}, add(indexer, freeByClass, func(v *corev1.PersistentVolume) (string, bool) {
		return storagehelpers.GetPersistentVolumeClass(v), v.Spec.ClaimRef == nil
	})
}

// Get returns a volume; nil: there is none.
func (v Volumes) Get(name string) *corev1.PersistentVolume {
	return get[*corev1.PersistentVolume](v.indexer, name)
}

// For returns the volumes that refer to a claim, sorted by name.
func (v Volumes) For(claim types.NamespacedName) []*corev1.PersistentVolume {
	return of[*corev1.PersistentVolume](v.indexer, volumesByClaim, claim.String())
}

// Free returns the volumes of a class that refer to no claim, sorted by name.
func (v Volumes) Free(class string) []*corev1.PersistentVolume {
	return of[*corev1.PersistentVolume](v.indexer, freeByClass, class)
}

// Claims is a cache of PersistentVolumeClaims.
type Claims struct{ indexer cache.Indexer }

// NewClaims adds the indexes to a cache of claims, unless another controller has added them.
func NewClaims(indexer cache.Indexer) (Claims, error) {
	err := add(indexer, claimsByVolume, func(c *corev1.PersistentVolumeClaim) (string, bool) {
		return c.Spec.VolumeName, c.Spec.VolumeName != ""
	})
	if err != nil {
		return Claims{}, err
	}
	return Claims{indexer}, add(indexer, claimsByClass, func(c *corev1.PersistentVolumeClaim) (string, bool) {
		return storagehelpers.GetPersistentVolumeClaimClass(c), c.Spec.VolumeName == "" && !metav1.HasAnnotation(c.ObjectMeta, storagehelpers.AnnBindCompleted)
	})
}

// Get returns a claim; nil: there is none.
func (c Claims) Get(key types.NamespacedName) *corev1.PersistentVolumeClaim {
	return get[*corev1.PersistentVolumeClaim](c.indexer, key.String())
}

// Naming returns the claims that name a volume, sorted by namespace and name.
func (c Claims) Naming(volume string) []*corev1.PersistentVolumeClaim {
	return of[*corev1.PersistentVolumeClaim](c.indexer, claimsByVolume, volume)
}

// Unbound returns the claims of a class that look for a volume, sorted by namespace and name.
// The class "" stands for claims without a class.
func (c Claims) Unbound(class string) []*corev1.PersistentVolumeClaim {
	return of[*corev1.PersistentVolumeClaim](c.indexer, claimsByClass, class)
}

// add adds an index with at most one value for each object, unless the cache has it.
func add[T metav1.Object](indexer cache.Indexer, name string, value func(T) (string, bool)) error {
	return addMany(indexer, name, func(o T) []string {
		if v, has := value(o); has {
			return []string{v}
		}
		return nil
	})
}

// addMany adds an index unless the cache has it.
func addMany[T metav1.Object](indexer cache.Indexer, name string, values func(T) []string) error {
	if _, has := indexer.GetIndexers()[name]; has {
		return nil
	}
	err := indexer.AddIndexers(cache.Indexers{name: func(obj any) ([]string, error) {
		if o, ok := obj.(T); ok {
			return values(o), nil
		}
		return nil, nil
	}})
	if err != nil {
		return fmt.Errorf("adding the index %s: %w", name, err)
	}
	return nil
}

// get returns an object of a cache; nil: it is not there. The lookup by a key does not fail.
func get[T metav1.Object](indexer cache.Indexer, key string) T {
	obj, _, _ := indexer.GetByKey(key)
	o, _ := obj.(T)
	return o
}

// of returns the objects with a value in an index, sorted.
func of[T metav1.Object](indexer cache.Indexer, name, value string) []T {
	objects, err := indexer.ByIndex(name, value)
	if err != nil {
		return nil // happens only without the index, which the constructors add
	}
	found := make([]T, 0, len(objects))
	for _, object := range objects {
		if o, ok := object.(T); ok {
			found = append(found, o)
		}
	}
	slices.SortFunc(found, func(a, b T) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return found
}
