package selection

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Triggers calculates the time of the change that a reconcile of a service follows, for the
// annotation endpoints.kubernetes.io/last-change-trigger-time: the earliest time, new since the
// last reconcile, at which a pod became ready or unready. The zero value is ready to use. It is
// safe for concurrent use.
type Triggers struct {
	mu       sync.Mutex
	services map[types.NamespacedName]*triggered
}

// triggered has the times of one service that are known.
type triggered struct {
	created time.Time
	pods    map[string]time.Time
}

// All returns the time for a reconcile of all pods of the service.
func (t *Triggers) All(service *corev1.Service, pods []*corev1.Pod) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.services == nil {
		t.services = map[types.NamespacedName]*triggered{}
	}
	key := types.NamespacedName{Namespace: service.Namespace, Name: service.Name}
	former, known := t.services[key]
	now := &triggered{created: service.CreationTimestamp.Time, pods: make(map[string]time.Time, len(pods))}
	t.services[key] = now
	if !known {
		now.note(nil, pods)
		return now.created
	}
	first := now.note(former.pods, pods)
	if now.created.After(former.created) {
		first = earlier(first, now.created)
	}
	return first
}

// Some returns the time for a reconcile of the pods with these names; pods are the ones that are
// still selected. The service is the same as in the last call of All.
func (t *Triggers) Some(service *corev1.Service, names []string, pods []*corev1.Pod) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	known, ok := t.services[types.NamespacedName{Namespace: service.Namespace, Name: service.Name}]
	if !ok {
		return time.Time{}
	}
	former := make(map[string]time.Time, len(names))
	for _, name := range names {
		if at, ok := known.pods[name]; ok {
			former[name] = at
			delete(known.pods, name)
		}
	}
	return known.note(former, pods)
}

// note records the times of pods, and returns the earliest one that is after the former time
// of its pod.
func (t *triggered) note(former map[string]time.Time, pods []*corev1.Pod) (first time.Time) {
	for _, pod := range pods {
		at := readyChanged(pod)
		if at.IsZero() {
			continue
		}
		t.pods[pod.Name] = at
		if at.After(former[pod.Name]) {
			first = earlier(first, at)
		}
	}
	return first
}

// Forget removes the times of a service.
func (t *Triggers) Forget(service types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.services, service)
}

func readyChanged(pod *corev1.Pod) time.Time {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

func earlier(first, at time.Time) time.Time {
	if first.IsZero() || at.Before(first) {
		return at
	}
	return first
}
