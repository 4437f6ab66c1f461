package decide

import (
	"fmt"
	"maps"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"minikcm.dev/minikcm/controllers/internal/controllerref"
)

// Counts holds the numbers of pods that an owner controls and selects, by their contribution to its
// status.
type Counts struct {
	// Active is the number of pods that have neither ended nor are being deleted. The next
	// three are of these.
	Active, FullyLabeled, Ready, Available int32
	// Terminating is the number of pods that are being deleted and have not ended.
	Terminating int32
}

// standing is a pod's contribution to the counts of its owner.
type standing uint8

const (
	// active: the pod has neither ended nor is being deleted.
	active standing = 1 << iota
	// terminating: it is being deleted and has not ended.
	terminating
	// fullyLabeled: the pod has all labels of the template.
	fullyLabeled
	ready
	available
)

func (c *Counts) add(s standing, n int32) {
	if s&terminating != 0 {
		c.Terminating += n
	}
	if s&active == 0 {
		return
	}
	c.Active += n
	if s&fullyLabeled != 0 {
		c.FullyLabeled += n
	}
	if s&ready != 0 {
		c.Ready += n
	}
	if s&available != 0 {
		c.Available += n
	}
}

// terms are the properties of an owner that its pods are counted by.
type terms struct {
	selector, template labels.Selector
	minReady           int32

	// selectorFrom and templateFrom are the sources that the selectors were made from.
	selectorFrom *metav1.LabelSelector
	templateFrom map[string]string
}

func newTerms(rs *appsv1.ReplicaSet) (*terms, error) {
	selector, err := metav1.LabelSelectorAsSelector(rs.Spec.Selector)
	if err != nil {
		return nil, fmt.Errorf("reading the selector: %w", err)
	}
	return &terms{
		selector: selector, template: labels.SelectorFromSet(rs.Spec.Template.Labels), minReady: rs.Spec.MinReadySeconds,
		selectorFrom: rs.Spec.Selector, templateFrom: rs.Spec.Template.Labels,
	}, nil
}

// are reports whether these are the terms of rs.
func (t *terms) are(rs *appsv1.ReplicaSet) bool {
	return t.minReady == rs.Spec.MinReadySeconds && maps.Equal(t.templateFrom, rs.Spec.Template.Labels) &&
		equality.Semantic.DeepEqual(t.selectorFrom, rs.Spec.Selector)
}

// judge returns the standing of a selected pod at a time at which no ready pod has become available by
// waiting, and the time at which it does so, which is zero if it does not.
func (t *terms) judge(pod *corev1.Pod) (s standing, due time.Time) {
	if controllerref.Terminating(pod) {
		s |= terminating
	}
	if !controllerref.Active(pod) {
		return s, due
	}
	s |= active
	if t.template.Matches(labels.Set(pod.Labels)) {
		s |= fullyLabeled
	}
	since, isReady := controllerref.ReadySince(pod)
	switch {
	case !isReady:
	case t.minReady == 0:
		s |= ready | available
	case since.IsZero():
		s |= ready
	default:
		s |= ready
		due = since.Add(time.Duration(t.minReady) * time.Second)
	}
	return s, due
}

// ripening is a heap of pods that become available, the next one first.
type ripening []*entry

func (r ripening) Len() int           { return len(r) }
func (r ripening) Less(i, j int) bool { return r[i].Status.due.Before(r[j].Status.due) }

func (r ripening) Swap(i, j int) {
	r[i], r[j] = r[j], r[i]
	r[i].Status.at, r[j].Status.at = i, j
}

// Push implements heap.Interface.
func (r *ripening) Push(x any) {
	e := x.(*entry)
	e.Status.at = len(*r)
	*r = append(*r, e)
}

// Pop implements heap.Interface.
func (r *ripening) Pop() any {
	last := len(*r) - 1
	e := (*r)[last]
	(*r)[last] = nil
	*r, e.Status.at = (*r)[:last], -1
	return e
}
