package volumeindex

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-helpers/storage/ephemeral"
)

const podsByClaim = "minikcm.dev/pods-by-claim"

// Pods is a cache of Pods.
type Pods struct{ indexer cache.Indexer }

// NewPods adds the index to a cache of pods, unless another controller has added it.
func NewPods(indexer cache.Indexer) (Pods, error) {
	return Pods{indexer}, addMany(indexer, podsByClaim, func(pod *corev1.Pod) []string {
		var claims []string
		for _, claim := range ClaimsOf(pod) {
			claims = append(claims, claim.String())
		}
		return claims
	})
}

// Get returns a pod; nil: there is none.
func (p Pods) Get(key types.NamespacedName) *corev1.Pod {
	return get[*corev1.Pod](p.indexer, key.String())
}

// Using returns the pods that use a claim, sorted by name.
func (p Pods) Using(claim types.NamespacedName) []*corev1.Pod {
	return of[*corev1.Pod](p.indexer, podsByClaim, claim.String())
}

// ClaimsOf returns the keys of the claims that a pod uses, including the claims of its ephemeral
// volumes. It allocates nothing for a pod without claims.
func ClaimsOf(pod *corev1.Pod) []types.NamespacedName {
	var claims []types.NamespacedName
	for i := range pod.Spec.Volumes {
		switch volume := &pod.Spec.Volumes[i]; {
		case volume.PersistentVolumeClaim != nil:
			claims = append(claims, types.NamespacedName{Namespace: pod.Namespace, Name: volume.PersistentVolumeClaim.ClaimName})
		case volume.Ephemeral != nil:
			claims = append(claims, types.NamespacedName{Namespace: pod.Namespace, Name: ephemeral.VolumeClaimName(pod, volume)})
		}
	}
	return claims
}
