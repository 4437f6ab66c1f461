package decide

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/controllers/controllerref"
)

// Pods are what a decision reads of the pods that a budget selects.
type Pods struct {
	// Number counts the pods, and Healthy those that are ready and not being deleted.
	Number, Healthy int32
	// Unmanaged is true if one of them has no controller.
	Unmanaged bool
	// Controlled has, for each controller of the pods, the pod whose name sorts first. Evicted
	// are the pods that the budget's status lists as disrupted. Both are sorted by name.
	Controlled, Evicted []*corev1.Pod
}

// Account holds the pods of a namespace, and counts those that look the same to all budgets:
// those with the same labels and the same controller. There are few such kinds, one for each
// template that is in use, unless pods have labels of their own, as those of a StatefulSet.
// Therefore the cost of a decision does not follow the number of pods.
type Account struct {
	pods  map[string]*entry
	kinds map[string]*kind
}

// entry is a pod of an account.
type entry struct {
	pod     *corev1.Pod
	kind    *kind
	healthy bool
}

// kind counts pods with the same labels and the same controller.
type kind struct {
	key             string
	labels          labels.Set
	controller      types.UID
	number, healthy int32
	// first is the pod whose name sorts first; nil if it has to be searched.
	first *corev1.Pod
}

// NewAccount returns an empty account.
func NewAccount() *Account {
	return &Account{pods: map[string]*entry{}, kinds: map[string]*kind{}}
}

// Len returns the number of pods.
func (a *Account) Len() int { return len(a.pods) }

// Set adds a pod, or replaces its earlier state.
func (a *Account) Set(pod *corev1.Pod) {
	e, known := a.pods[pod.Name]
	controller := controllerref.ControllerUID(pod)
	switch {
	case !known:
		e = &entry{}
		a.pods[pod.Name] = e
		a.enter(e, pod, controller)
	case e.kind.controller != controller || !maps.Equal(e.kind.labels, pod.Labels):
		a.leave(e)
		a.enter(e, pod, controller)
	}
	if e.kind.first == nil && e.kind.number == 1 || e.kind.first != nil && pod.Name <= e.kind.first.Name {
		e.kind.first = pod
	}
	if e.healthy {
		e.kind.healthy--
	}
	e.pod, e.healthy = pod, isHealthy(pod)
	if e.healthy {
		e.kind.healthy++
	}
}

// Unset removes a pod.
func (a *Account) Unset(key types.NamespacedName) {
	if e, ok := a.pods[key.Name]; ok {
		a.leave(e)
		delete(a.pods, key.Name)
	}
}

// enter counts an entry, which is not healthy yet, in the kind of the pod.
func (a *Account) enter(e *entry, pod *corev1.Pod, controller types.UID) {
	key := string(controller) + "/" + labels.Set(pod.Labels).String()
	k, ok := a.kinds[key]
	if !ok {
		k = &kind{key: key, labels: pod.Labels, controller: controller}
		a.kinds[key] = k
	}
	k.number++
	e.kind = k
}

// leave reverses enter, and what has been counted since.
func (a *Account) leave(e *entry) {
	k := e.kind
	k.number--
	if e.healthy {
		k.healthy--
		e.healthy = false
	}
	if k.first == e.pod {
		k.first = nil
	}
	if k.number == 0 {
		delete(a.kinds, k.key)
	}
}

// Look returns what the budget with this selector reads. disrupted are the names in its
// status.
func (a *Account) Look(selector labels.Selector, disrupted map[string]metav1.Time) Pods {
	var found Pods
	first := map[types.UID]*corev1.Pod{}
	for _, k := range a.kinds {
		if !selector.Matches(k.labels) {
			continue
		}
		found.Number += k.number
		found.Healthy += k.healthy
		if k.controller == "" {
			found.Unmanaged = true
			continue
		}
		pod := a.firstOf(k)
		if known := first[k.controller]; known == nil || pod.Name < known.Name {
			first[k.controller] = pod
		}
	}
	for name := range disrupted {
		if e := a.pods[name]; e != nil && selector.Matches(e.kind.labels) {
			found.Evicted = append(found.Evicted, e.pod)
		}
	}
	found.Controlled = slices.SortedFunc(maps.Values(first), byName)
	slices.SortFunc(found.Evicted, byName)
	return found
}

// firstOf returns the pod of a kind whose name sorts first.
func (a *Account) firstOf(k *kind) *corev1.Pod {
	if k.first != nil {
		return k.first
	}
	for _, e := range a.pods {
		if e.kind == k && (k.first == nil || e.pod.Name < k.first.Name) {
			k.first = e.pod
		}
	}
	return k.first
}

// Survey returns what an Account returns, from all pods of the namespace at once. It is the
// definition that accounts are compared with.
func Survey(pods []*corev1.Pod, selector labels.Selector, disrupted map[string]metav1.Time) Pods {
	var found Pods
	seen := map[types.UID]bool{"": true}
	for _, pod := range slices.SortedFunc(slices.Values(pods), byName) {
		if !selector.Matches(labels.Set(pod.Labels)) {
			continue
		}
		found.Number++
		if isHealthy(pod) {
			found.Healthy++
		}
		controller := controllerref.ControllerUID(pod)
		if controller == "" {
			found.Unmanaged = true
		}
		if !seen[controller] {
			seen[controller] = true
			found.Controlled = append(found.Controlled, pod)
		}
		if _, evicted := disrupted[pod.Name]; evicted {
			found.Evicted = append(found.Evicted, pod)
		}
	}
	return found
}

func isHealthy(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && controllerref.Ready(pod)
}

func byName(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) }
