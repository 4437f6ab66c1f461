package scheduler

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// PodSet is pods that are counted together: those that match every one of its
// parts. It is immutable.
type PodSet struct {
	parts []podMatch
	// living leaves out pods that are being deleted.
	living bool
	// key is the same for equal sets.
	key string
}

// podMatch is pods by their labels and namespaces.
type podMatch struct {
	// namespaces is sorted; nil: all.
	namespaces []string
	selector   labels.Selector
}

// NewPodSet returns the pods of a namespace that the selector matches and that
// are not being deleted. As in kube-scheduler an empty selector counts none.
func NewPodSet(namespace string, selector labels.Selector) *PodSet {
	if selector.Empty() {
		selector = labels.Nothing()
	}
	return podSetOf(true, podMatch{[]string{namespace}, selector})
}

func podSetOf(living bool, parts ...podMatch) *PodSet {
	var key strings.Builder
	if living {
		key.WriteString("living")
	}
	for _, m := range parts {
		key.WriteString("\x01" + m.key())
	}
	return &PodSet{parts: parts, living: living, key: key.String()}
}

func (m podMatch) key() string {
	namespaces := "*"
	if m.namespaces != nil {
		namespaces = strings.Join(m.namespaces, ",")
	}
	return namespaces + "\x00" + selectorKey(m.selector)
}

// selectorKey sets apart what matches nothing from what matches everything,
// which print alike.
func selectorKey(s labels.Selector) string {
	if _, ok := s.Requirements(); !ok {
		return "\x00"
	}
	return s.String()
}

func (m podMatch) has(p *PodInfo) bool {
	return (m.namespaces == nil || slices.Contains(m.namespaces, p.Pod.Namespace)) && m.selector.Matches(labels.Set(p.Pod.Labels))
}

func (s *PodSet) has(p *PodInfo) bool {
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

// bucket is where sets are found by the labels that their pods must have. Empty
// fields stand for any.
type bucket struct{ namespace, label, value string }

// bucket returns the one place to look for the set.
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

// selectorOf parses a selector of the API: nil matches nothing. One that does not
// parse has not passed the API's validation; it matches nothing either.
func selectorOf(s *metav1.LabelSelector) labels.Selector {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return labels.Nothing()
	}
	return selector
}
