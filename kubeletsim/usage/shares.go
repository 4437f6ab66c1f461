package usage

import (
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Object is any object of the API.
type Object = metav1.Object

// Shares are the loads that the pods of one namespace share at one time, divided among
// those of them that are ready. Nil is none.
type Shares struct {
	at time.Time
	// loads are those of the objects that have any.
	loads []sharedLoad
}

type sharedLoad struct {
	selector labels.Selector
	// each is what every ready pod gets, by resource or metric.
	each map[string]float64
}

// Shares divides the loads of carriers (Services, Deployments and StatefulSets; others
// have none) among the pods of their namespace. Its cost is nothing for carriers
// without a load, and otherwise that of looking at each pod once for each of them.
func (u Model) Shares(carriers []Object, pods []*corev1.Pod, at time.Time) *Shares {
	var s *Shares
	for _, carrier := range carriers {
		totals := u.totals(carrier, at)
		if len(totals) == 0 {
			continue
		}
		selector := selectorOf(carrier)
		if selector == nil || selector.Empty() {
			continue
		}
		n := 0
		for _, pod := range pods {
			if takesLoad(pod, at) && selector.Matches(labels.Set(pod.Labels)) {
				n++
			}
		}
		for name := range totals {
			totals[name] /= float64(max(n, 1))
		}
		if s == nil {
			s = &Shares{at: at}
		}
		s.loads = append(s.loads, sharedLoad{selector, totals})
	}
	return s
}

// CarriesLoad reports whether an object has a load for its pods to share, if it is of a
// kind that may.
func CarriesLoad(o Object) bool {
	for key := range o.GetAnnotations() {
		if strings.HasPrefix(key, AnnotationLoad) {
			return true
		}
	}
	return false
}

// NodeSilent reports whether nothing is heard of a node, so that nobody knows what its pods
// use either.
func NodeSilent(node *corev1.Node) bool {
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionUnknown
		}
	}
	return true
}

// totals are the loads of an object, by resource or metric.
func (u Model) totals(o Object, at time.Time) map[string]float64 {
	var totals map[string]float64
	for key, text := range o.GetAnnotations() {
		name, found := strings.CutPrefix(key, AnnotationLoad)
		if !found {
			continue
		}
		load, err := ParseLoad(text)
		if err != nil {
			continue
		}
		if totals == nil {
			totals = map[string]float64{}
		}
		totals[name] = load.sample(at, o.GetCreationTimestamp().Time, u.Seed, string(o.GetUID()), name)
	}
	return totals
}

func selectorOf(o Object) labels.Selector {
	switch o := o.(type) {
	case *corev1.Service:
		return labels.SelectorFromSet(o.Spec.Selector)
	case *appsv1.Deployment:
		return labelSelector(o.Spec.Selector)
	case *appsv1.StatefulSet:
		return labelSelector(o.Spec.Selector)
	}
	return nil
}

func labelSelector(s *metav1.LabelSelector) labels.Selector {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return nil
	}
	return selector
}

// takesLoad is whether a pod was ready at that time, as far as can still be told.
func takesLoad(pod *corev1.Pod, at time.Time) bool {
	if pod.DeletionTimestamp != nil {
		return false
	}
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue && !c.LastTransitionTime.After(at)
		}
	}
	return false
}

// of is a pod's part of the shared loads of a resource or metric; false if it takes
// part in none. A pod that is not ready has a part of nothing.
func (s *Shares) of(pod *corev1.Pod, name string) (float64, bool) {
	if s == nil {
		return 0, false
	}
	var value float64
	said := false
	for i := range s.loads {
		each, ok := s.loads[i].each[name]
		if !ok || !s.loads[i].selector.Matches(labels.Set(pod.Labels)) {
			continue
		}
		said = true
		if takesLoad(pod, s.at) {
			value += each
		}
	}
	return value, said
}
