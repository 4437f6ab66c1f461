package decide

import (
	"cmp"
	"maps"
	"slices"

	"github.com/google/btree"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"minikcm.dev/minikcm/controllers/internal/controllerref"
)

// Pods summarizes the pods that a budget selects, for a decision.
type Pods struct {
	// Number counts the pods, and Healthy those that are ready and not being deleted.
	Number, Healthy int32
	// Unmanaged is true if one of them has no controller.
	Unmanaged bool
	// Controlled has, for each controller of the pods, the pod whose name sorts first. Evicted
	// are the pods that the budget's status lists as disrupted. Both are sorted by name.
	Controlled, Evicted []*corev1.Pod
}

// Account holds the pods of a namespace and counts them by kind. Pods of one kind look the same to
// all budgets: they have the same controller and the same values of the labels that selectors use.
// There are few kinds, one for each template in use, because no selector uses a label whose value
// differs for each pod, such as the pod-name label of a StatefulSet. Therefore the cost of a
// decision does not grow with the number of pods. A selector with a new label makes Account count
// all pods again.
type Account struct {
	// asked holds the labels that selectors use.
	asked sets.Set[string]
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
	key        string
	labels     labels.Set
	controller types.UID
	healthy    int32
	// pods are sorted by name.
	pods *btree.BTreeG[*corev1.Pod]
}

// NewAccount returns an empty account.
func NewAccount() *Account {
	return &Account{asked: sets.New[string](), pods: map[string]*entry{}, kinds: map[string]*kind{}}
}

// Len returns the number of pods.
func (a *Account) Len() int { return len(a.pods) }

// Set adds a pod, or replaces its earlier state.
func (a *Account) Set(pod *corev1.Pod) {
	e, known := a.pods[pod.Name]
	if known {
		a.leave(e)
	} else {
		e = &entry{}
		a.pods[pod.Name] = e
	}
	a.enter(e, pod)
}

// Unset removes a pod.
func (a *Account) Unset(key types.NamespacedName) {
	if e, ok := a.pods[key.Name]; ok {
		a.leave(e)
		delete(a.pods, key.Name)
	}
}

// enter counts a pod in its kind.
func (a *Account) enter(e *entry, pod *corev1.Pod) {
	controller, seen := controllerref.ControllerUID(pod), a.seen(pod)
	key := string(controller) + "/" + seen.String()
	k, ok := a.kinds[key]
	if !ok {
		k = &kind{key: key, labels: seen, controller: controller, pods: btree.NewG(32, func(a, b *corev1.Pod) bool { return a.Name < b.Name })}
		a.kinds[key] = k
	}
	k.pods.ReplaceOrInsert(pod)
	e.pod, e.kind, e.healthy = pod, k, isHealthy(pod)
	if e.healthy {
		k.healthy++
	}
}

// seen returns the labels of a pod that selectors ask for.
func (a *Account) seen(pod *corev1.Pod) labels.Set {
	seen := labels.Set{}
	for key := range a.asked {
		if value, has := pod.Labels[key]; has {
			seen[key] = value
		}
	}
	return seen
}

// leave reverses enter.
func (a *Account) leave(e *entry) {
	e.kind.pods.Delete(e.pod)
	if e.healthy {
		e.kind.healthy--
	}
	if e.kind.pods.Len() == 0 {
		delete(a.kinds, e.kind.key)
	}
}

// ask counts all pods again if the selector uses a label that none has used before.
func (a *Account) ask(selector labels.Selector) {
	before := a.asked.Len()
	requirements, _ := selector.Requirements()
	for i := range requirements {
		a.asked.Insert(requirements[i].Key())
	}
	if a.asked.Len() == before {
		return
	}
	clear(a.kinds)
	for _, e := range a.pods {
		a.enter(e, e.pod)
	}
}

// Look summarizes the pods of the budget with this selector. disrupted are the names in its
// status.
func (a *Account) Look(selector labels.Selector, disrupted map[string]metav1.Time) Pods {
	a.ask(selector)
	var found Pods
	first := map[types.UID]*corev1.Pod{}
	for _, k := range a.kinds {
		if !selector.Matches(k.labels) {
			continue
		}
		found.Number += int32(k.pods.Len()) // a namespace has fewer pods
		found.Healthy += k.healthy
		if k.controller == "" {
			found.Unmanaged = true
			continue
		}
		pod, _ := k.pods.Min()
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

// Survey returns the same as an Account, from all pods of the namespace at once. It is the
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
