package decide

import (
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/controllers/internal/controllerref"
)

// Plain counts the pods of which a decision needs only the number: the set wants each of them, it
// has the newest revision and is available, and needs no action. The zero value has no pods.
type Plain struct {
	Count int
	// Others are the ordinals that the set wants and that no plain pod has, sorted. They are
	// all, and not listed, if Count is 0.
	Others []int
}

// Account holds the pods that one set controls, or the pods of a namespace that have no controller,
// and keeps the plain ones apart, so that the cost of a decision depends only on the changes and on
// the pending work.
//
// The claims of a set can change without its pods: the pods of a set with claim templates
// are never plain.
type Account struct {
	terms *terms
	asOf  time.Time
	pods  map[string]*corev1.Pod
	// plain has the names of plain pods by ordinal, and rest the names of the others.
	plain map[int]string
	rest  map[string]bool
	// named has the names of the pods that a set of that name could have given them.
	named map[string]map[string]bool
}

// terms are the properties of a set that make a pod plain.
type terms struct {
	name            string
	selector        labels.Selector
	start, replicas int
	minReady        int32
	revision        string
	claims          bool

	selectorFrom *metav1.LabelSelector
}

// NewAccount returns an empty account.
func NewAccount() *Account {
	return &Account{pods: map[string]*corev1.Pod{}, plain: map[int]string{}, rest: map[string]bool{}, named: map[string]map[string]bool{}}
}

// Len returns the number of pods.
func (a *Account) Len() int { return len(a.pods) }

// Set adds a pod, or replaces its earlier state.
func (a *Account) Set(pod *corev1.Pod) {
	a.remove(pod.Name)
	a.pods[pod.Name] = pod
	if parent, _, ok := SplitOrdinal(pod.Name); ok {
		if a.named[parent] == nil {
			a.named[parent] = map[string]bool{}
		}
		a.named[parent][pod.Name] = true
	}
	a.sort(pod)
}

// Unset removes a pod.
func (a *Account) Unset(key types.NamespacedName) { a.remove(key.Name) }

func (a *Account) remove(name string) {
	if _, known := a.pods[name]; !known {
		return
	}
	delete(a.pods, name)
	delete(a.rest, name)
	parent, ordinal, ok := SplitOrdinal(name)
	if !ok {
		return
	}
	if a.plain[ordinal] == name {
		delete(a.plain, ordinal)
	}
	if delete(a.named[parent], name); len(a.named[parent]) == 0 {
		delete(a.named, parent)
	}
}

// sort puts a pod among the plain ones or the others.
func (a *Account) sort(pod *corev1.Pod) {
	if ordinal, plain := a.terms.plain(pod, a.asOf); plain {
		a.plain[ordinal] = pod.Name
		delete(a.rest, pod.Name)
		return
	}
	a.rest[pod.Name] = true
}

// Look returns the plain pods of the set, and the other pods that a decision reads, sorted by name:
// the pods that the set controls, and the orphans that have a name of the set.
func (a *Account) Look(set *appsv1.StatefulSet, revision string, orphans *Account, now time.Time) (Plain, []*corev1.Pod, error) {
	if !a.terms.are(set, revision) || now.Before(a.asOf) {
		t, err := newTerms(set, revision)
		if err != nil {
			return Plain{}, nil, err
		}
		a.terms = t
		clear(a.plain)
		for name := range a.pods {
			a.rest[name] = true
		}
	}
	a.asOf = now
	for name := range a.rest {
		a.sort(a.pods[name]) // a pod becomes available by waiting
	}
	var rest []*corev1.Pod
	for name := range a.rest {
		rest = append(rest, a.pods[name])
	}
	for name := range orphans.named[set.Name] {
		rest = append(rest, orphans.pods[name])
	}
	slices.SortFunc(rest, byName)
	return Plain{Count: len(a.plain), Others: a.others()}, rest, nil
}

// others returns the ordinals that the set wants and that no plain pod has. It checks all ordinals
// only if pods are missing.
func (a *Account) others() []int {
	t, found := a.terms, []int{}
	if len(a.plain) == 0 {
		return nil
	}
	for name := range a.rest {
		if parent, ordinal, ok := SplitOrdinal(name); ok && parent == t.name && ordinal >= t.start && ordinal < t.start+t.replicas {
			found = append(found, ordinal)
		}
	}
	if len(a.plain)+len(found) < t.replicas {
		found = found[:0]
		for ordinal := t.start; ordinal < t.start+t.replicas; ordinal++ {
			if _, plain := a.plain[ordinal]; !plain {
				found = append(found, ordinal)
			}
		}
	}
	slices.Sort(found)
	return found
}

func newTerms(set *appsv1.StatefulSet, revision string) (*terms, error) {
	selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector)
	if err != nil {
		return nil, fmt.Errorf("reading the selector of StatefulSet %s/%s: %w", set.Namespace, set.Name, err)
	}
	return &terms{
		name: set.Name, selector: selector, start: start(set), replicas: replicas(set), minReady: set.Spec.MinReadySeconds,
		revision: revision, claims: len(set.Spec.VolumeClaimTemplates) > 0, selectorFrom: set.Spec.Selector,
	}, nil
}

// are reports whether these are the terms of the set.
func (t *terms) are(set *appsv1.StatefulSet, revision string) bool {
	return t != nil && t.name == set.Name && t.start == start(set) && t.replicas == replicas(set) && t.minReady == set.Spec.MinReadySeconds &&
		t.revision == revision && t.claims == (len(set.Spec.VolumeClaimTemplates) > 0) && equality.Semantic.DeepEqual(t.selectorFrom, set.Spec.Selector)
}

// plain reports whether the pod is plain, and its ordinal.
func (t *terms) plain(pod *corev1.Pod, now time.Time) (int, bool) {
	if t == nil || t.claims || pod.DeletionTimestamp != nil || controllerref.Ended(pod) || !running(pod) || !identified(pod) || revisionOf(pod) != t.revision {
		return 0, false
	}
	parent, ordinal, ok := SplitOrdinal(pod.Name)
	if !ok || parent != t.name || ordinal < t.start || ordinal >= t.start+t.replicas || !t.selector.Matches(labels.Set(pod.Labels)) {
		return 0, false
	}
	available, _ := controllerref.Available(pod, t.minReady, now)
	return ordinal, available
}

func byName(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) }

// NewestRevision returns the name of the revision of the set's template, which may have still to
// be created.
func NewestRevision(set *appsv1.StatefulSet, revisions []*appsv1.ControllerRevision) (string, error) {
	selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector)
	if err != nil {
		return "", fmt.Errorf("reading the selector of StatefulSet %s/%s: %w", set.Namespace, set.Name, err)
	}
	revs, err := revise(set, controllerref.Claim(set, selector, revisions).Owned)
	if err != nil {
		return "", err
	}
	return revs.update.Name, nil
}
