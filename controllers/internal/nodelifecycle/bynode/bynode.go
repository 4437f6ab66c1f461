package bynode

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

const indexName = "minikcm.dev/node"

// Pods looks up pods by node. It is safe for concurrent use.
type Pods struct{ indexer cache.Indexer }

// New adds the index to the informer of pods, unless it exists already.
func New(pods cache.SharedIndexInformer) (Pods, error) {
	if _, has := pods.GetIndexer().GetIndexers()[indexName]; !has {
		if err := pods.AddIndexers(cache.Indexers{indexName: index}); err != nil {
			return Pods{}, fmt.Errorf("indexing pods by their node: %w", err)
		}
	}
	return Pods{pods.GetIndexer()}, nil
}

func index(obj any) ([]string, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok || pod.Spec.NodeName == "" {
		return nil, nil
	}
	return []string{pod.Spec.NodeName}, nil
}

// On returns the pods bound to the node, sorted by namespace and name. They belong to the
// informer and must not be changed.
func (p Pods) On(node string) []*corev1.Pod {
	objects, err := p.indexer.ByIndex(indexName, node)
	if err != nil {
		return nil // happens only without the index, which New adds
	}
	pods := make([]*corev1.Pod, 0, len(objects))
	for _, object := range objects {
		if pod, ok := object.(*corev1.Pod); ok {
			pods = append(pods, pod)
		}
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return pods
}
