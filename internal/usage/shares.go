package usage

import (
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Object is any API object.
type Object = metav1.Object

// Shares are the shared loads of one namespace at one time, divided among its ready pods. A nil
// *Shares has none.
type Shares struct {
	at time.Time
	// loads has one entry for each object with a load.
	loads []sharedLoad
}

type sharedLoad struct {
	selector labels.Selector
	// each is the share of every ready pod, by resource or metric.
	each map[string]float64
}

// Shares divides the loads of carriers (Services, Deployments and StatefulSets; other kinds are
// ignored) among the pods of their namespace. It costs one pass over the pods for each carrier
// with a load.
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

// CarriesLoad reports whether an object has a load annotation for its pods.
func CarriesLoad(o Object) bool {
	for key := range o.GetAnnotations() {
		if strings.HasPrefix(key, AnnotationLoad) {
			return true
		}
	}
	return false
}

// NodeSilent reports whether a node's kubelet does not report, so that the usage of its pods is
// unknown.
func NodeSilent(node *corev1.Node) bool {
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionUnknown
		}
	}
	return true
}

// totals returns the loads of an object, by resource or metric.
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

// takesLoad reports whether a pod was ready at that time, as far as its status shows.
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

// of returns a pod's share of a resource or metric; false if no carrier selects the pod. The
// share of a pod that is not ready is 0.
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
