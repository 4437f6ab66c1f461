package framework

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// PodSet selects the pods that are counted together: the pods that match all of its parts. It is
// immutable.
type PodSet struct {
	parts []PodMatch
	// living excludes terminating pods.
	living bool
	// key is equal for equal sets.
	key string
}

// PodMatch selects pods by labels and namespaces.
type PodMatch struct {
	// namespaces is sorted; nil: all.
	namespaces []string
	selector   labels.Selector
}

// NewPodSet returns the set of the pods of a namespace that match the selector and are not
// terminating. As in kube-scheduler, an empty selector matches none.
func NewPodSet(namespace string, selector labels.Selector) *PodSet {
	if selector.Empty() {
		selector = labels.Nothing()
	}
	return newPodSet(true, PodMatch{[]string{namespace}, selector})
}

// IntersectionOf returns the set of the pods that match all parts, terminating pods included.
func IntersectionOf(parts ...PodMatch) *PodSet { return newPodSet(false, parts...) }

func newPodSet(living bool, parts ...PodMatch) *PodSet {
	var key strings.Builder
	if living {
		key.WriteString("living")
	}
	for _, m := range parts {
		key.WriteString("\x01" + m.key())
	}
	return &PodSet{parts: parts, living: living, key: key.String()}
}

func (m PodMatch) key() string {
	namespaces := "*"
	if m.namespaces != nil {
		namespaces = strings.Join(m.namespaces, ",")
	}
	return namespaces + "\x00" + selectorKey(m.selector)
}

// selectorKey distinguishes the selectors that match nothing and everything, whose strings are
// equal.
func selectorKey(s labels.Selector) string {
	if _, ok := s.Requirements(); !ok {
		return "\x00"
	}
	return s.String()
}

func (m PodMatch) has(p *PodInfo) bool {
	return (m.namespaces == nil || slices.Contains(m.namespaces, p.Pod.Namespace)) && m.selector.Matches(labels.Set(p.Pod.Labels))
}

// Has reports whether the pod is in the set.
func (s *PodSet) Has(p *PodInfo) bool {
	if s.living && p.Pod.DeletionTimestamp != nil {
		return false
	}
	for _, m := range s.parts {
		if !m.has(p) {
			return false
		}
	}
	return true
}

// bucket is a key of the index of sets: a label that all pods of the set have. Empty fields
// mean any.
type bucket struct{ namespace, label, value string }

// bucket returns the bucket that the set is in.
func (s *PodSet) bucket() bucket {
	var b bucket
	if first := s.parts[0]; len(first.namespaces) == 1 {
		b.namespace = first.namespaces[0]
	}
	for _, m := range s.parts {
		requirements, _ := m.selector.Requirements()
		for _, r := range requirements {
			switch r.Operator() {
			case selection.In, selection.Equals, selection.DoubleEquals:
				if len(r.ValuesUnsorted()) == 1 {
					b.label, b.value = r.Key(), r.ValuesUnsorted()[0]
					return b
				}
			}
		}
	}
	return b
}

// ParseSelector parses a selector of the API. nil matches nothing, nor does a selector that
// cannot be parsed, which the API's validation refuses.
func ParseSelector(s *metav1.LabelSelector) labels.Selector {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return labels.Nothing()
	}
	return selector
}
