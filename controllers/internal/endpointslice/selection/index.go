package selection

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"minikcm.dev/minikcm/internal/loop"
)

// The names of the indices on pods and on services.
const (
	byLabel    = "minikcm.dev/label"
	bySelector = "minikcm.dev/selector"
)

// Selection looks up pods and services. It is safe for concurrent use.
type Selection struct {
	pods, services cache.Indexer
}

// New adds the indices to the caches of informers, unless they exist already. Call it before
// the informers start.
func New(pods, services cache.Indexer) (*Selection, error) {
	if err := addIndex(pods, byLabel, podLabels); err != nil {
		return nil, fmt.Errorf("indexing pods by their labels: %w", err)
	}
	if err := addIndex(services, bySelector, serviceSelector); err != nil {
		return nil, fmt.Errorf("indexing services by their selectors: %w", err)
	}
	return &Selection{pods: pods, services: services}, nil
}

func addIndex(indexer cache.Indexer, name string, f cache.IndexFunc) error {
	if _, has := indexer.GetIndexers()[name]; has {
		return nil
	}
	return indexer.AddIndexers(cache.Indexers{name: f})
}

// indexKey returns the key of a label in a namespace. No label contains a zero byte.
func indexKey(namespace, key, value string) string {
	return namespace + "\x00" + key + "\x00" + value
}

func podLabels(obj any) ([]string, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return nil, nil
	}
	keys := make([]string, 0, len(pod.Labels))
	for k, v := range pod.Labels {
		keys = append(keys, indexKey(pod.Namespace, k, v))
	}
	return keys, nil
}

// serviceSelector indexes a service by the first label of its selector, which every
// selected pod has.
func serviceSelector(obj any) ([]string, error) {
	service, ok := obj.(*corev1.Service)
	if !ok || len(service.Spec.Selector) == 0 {
		return nil, nil
	}
	first := ""
	for k := range service.Spec.Selector {
		if first == "" || k < first {
			first = k
		}
	}
	return []string{indexKey(service.Namespace, first, service.Spec.Selector[first])}, nil
}

// Pods returns the pods in the namespace that the selector matches, sorted by name. They
// belong to the informer and must not be changed. An empty selector matches all pods, as
// upstream.
func (s *Selection) Pods(namespace string, selector map[string]string) ([]*corev1.Pod, error) {
	objects, err := s.candidates(namespace, selector)
	if err != nil {
		return nil, fmt.Errorf("looking up the pods of namespace %s: %w", namespace, err)
	}
	matches := labels.SelectorFromSet(selector)
	pods := make([]*corev1.Pod, 0, len(objects))
	for _, object := range objects {
		if pod, ok := object.(*corev1.Pod); ok && matches.Matches(labels.Set(pod.Labels)) {
			pods = append(pods, pod)
		}
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return pods, nil
}

// Named returns the pods of these names that the selector matches, in the order of the names.
// They belong to the informer and must not be changed.
func (s *Selection) Named(namespace string, names []string, selector map[string]string) ([]*corev1.Pod, error) {
	matches := labels.SelectorFromSet(selector)
	pods := make([]*corev1.Pod, 0, len(names))
	for _, name := range names {
		object, exists, err := s.pods.GetByKey(namespace + "/" + name)
		if err != nil {
			return nil, fmt.Errorf("looking up pod %s/%s: %w", namespace, name, err)
		}
		if pod, ok := object.(*corev1.Pod); exists && ok && matches.Matches(labels.Set(pod.Labels)) {
			pods = append(pods, pod)
		}
	}
	return pods, nil
}

// candidates returns the pods that have the selector's rarest label.
func (s *Selection) candidates(namespace string, selector map[string]string) ([]any, error) {
	if len(selector) == 0 {
		return s.pods.ByIndex(cache.NamespaceIndex, namespace)
	}
	best, fewest := "", -1
	for k, v := range selector {
		key := indexKey(namespace, k, v)
		if len(selector) == 1 {
			best = key
			break
		}
		keys, err := s.pods.IndexKeys(byLabel, key)
		if err != nil {
			return nil, err
		}
		if fewest < 0 || len(keys) < fewest {
			best, fewest = key, len(keys)
		}
	}
	return s.pods.ByIndex(byLabel, best)
}

// Services returns the keys of the services that select a pod with those labels.
func (s *Selection) Services(namespace string, podLabels map[string]string) []types.NamespacedName {
	var keys []types.NamespacedName
	for k, v := range podLabels {
		objects, err := s.services.ByIndex(bySelector, indexKey(namespace, k, v))
		if err != nil {
			continue // happens only without the index, which New adds
		}
		for _, object := range objects {
			service, ok := object.(*corev1.Service)
			if ok && labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(podLabels)) {
				keys = append(keys, loop.KeyOf(service))
			}
		}
	}
	return keys
}
