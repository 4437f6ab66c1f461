package resourceclaim

import (
	"cmp"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"minikcm.dev/minikcm/controllers/internal/resourceclaim/decide"
	"minikcm.dev/minikcm/internal/loop"
)

const claimsByPod = "minikcm.dev/resource-claims-by-pod"

// generated finds the claims that were generated for pods: the claims in the cache, and the claims
// that the controller has created and the cache does not show yet. Without the latter, a pod would
// get another claim:
//
//	reconcile of pod p        creates p-gpu-x7k2q, cannot write the status of p
//	reconcile of pod p        neither the status nor the cache show p-gpu-x7k2q
type generated struct {
	indexer cache.Indexer

	mu   sync.Mutex
	made map[generatedKey]*resourcev1.ResourceClaim
}

// generatedKey is one of a pod's claims.
type generatedKey struct {
	pod      types.UID
	podClaim string
}

func newGenerated(indexer cache.Indexer) (*generated, error) {
	if _, has := indexer.GetIndexers()[claimsByPod]; !has {
		err := indexer.AddIndexers(cache.Indexers{claimsByPod: func(obj any) ([]string, error) {
			claim, ok := obj.(*resourcev1.ResourceClaim)
			if !ok {
				return nil, nil
			}
			if key, ok := keyOf(claim); ok {
				return []string{string(key.pod)}, nil
			}
			return nil, nil
		}})
		if err != nil {
			return nil, err
		}
	}
	return &generated{indexer: indexer, made: map[generatedKey]*resourcev1.ResourceClaim{}}, nil
}

// keyOf returns which of which pod's claims a claim was generated for.
func keyOf(claim *resourcev1.ResourceClaim) (key generatedKey, ok bool) {
	owner, podClaim := decide.OwnerPod(claim), claim.Annotations[decide.PodClaim]
	if owner == nil || podClaim == "" {
		return generatedKey{}, false
	}
	return generatedKey{owner.UID, podClaim}, true
}

// get returns the claim that was generated for one of a pod's claims; nil: there is none.
func (g *generated) get(pod types.UID, podClaim string) *resourcev1.ResourceClaim {
	wanted := generatedKey{pod, podClaim}
	var found []*resourcev1.ResourceClaim
	objects, _ := g.indexer.ByIndex(claimsByPod, string(pod)) // fails only without the index
	for _, obj := range objects {
		if claim, ok := obj.(*resourcev1.ResourceClaim); ok {
			if key, ok := keyOf(claim); ok && key == wanted {
				found = append(found, claim)
			}
		}
	}
	if len(found) > 0 {
		return slices.MinFunc(found, func(a, b *resourcev1.ResourceClaim) int { return cmp.Compare(a.Name, b.Name) })
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.made[wanted]
}

// add records a created claim until the cache shows it.
func (g *generated) add(claim *resourcev1.ResourceClaim) {
	key, ok := keyOf(claim)
	if !ok {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, shown, _ := g.indexer.GetByKey(cache.ObjectName{Namespace: claim.Namespace, Name: claim.Name}.String()); !shown {
		g.made[key] = claim
	}
}

// observeClaim forgets a claim that the cache has shown.
func (g *generated) observeClaim(ev loop.Event) {
	claim, ok := ev.Object.(*resourcev1.ResourceClaim)
	if !ok {
		return
	}
	key, ok := keyOf(claim)
	if !ok {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if made := g.made[key]; made != nil && made.UID == claim.UID {
		delete(g.made, key)
	}
}

// observePod forgets the claims of a pod that is gone.
func (g *generated) observePod(ev loop.Event) {
	pod, ok := ev.Object.(*corev1.Pod)
	if !ok || ev.Type != loop.Deleted || len(pod.Spec.ResourceClaims) == 0 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range pod.Spec.ResourceClaims {
		delete(g.made, generatedKey{pod.UID, pod.Spec.ResourceClaims[i].Name})
	}
}
