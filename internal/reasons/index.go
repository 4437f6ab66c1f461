package reasons

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// maxDepth caps the depth of parts of parts, maxParts the parts of one object, and
	// maxSubjects the total: parts beyond are only counted.
	maxDepth    = 5
	maxParts    = 200
	maxSubjects = 1000
)

// Index finds, among the added objects and events, the ones that belong to an object. It looks in
// the object's namespace, or in all namespaces if it has none, and among the nodes. It is safe for
// concurrent reads after the last addition. It keeps the objects that it receives and does not
// change them.
type Index struct {
	objects []item
	parts   map[types.UID][]item
	events  map[name][]Event
	// refusals are indexed as events are.
	refusals map[name][]refusal
	// nodes are indexed by name; budgets and makers, which create pods from a template, by
	// namespace.
	nodes           map[string]item
	budgets, makers map[string][]item
	// bound are the pods of all namespaces that hold resources, by node, and owners the
	// controllers of objects that may be controllers themselves, by the UIDs of the objects.
	bound  map[string][]*corev1.Pod
	owners map[types.UID]metav1.OwnerReference
	held   heldBy
}

// item is an object, typed or not, that is converted to unstructured when it is needed.
type item struct {
	kind schema.GroupVersionKind
	meta metav1.Object
	came runtime.Object
}

type name struct{ kind, namespace, name string }

type refusal struct {
	about About
	Refusal
}

// NewIndex returns an empty Index.
func NewIndex() *Index {
	return &Index{
		parts: map[types.UID][]item{}, events: map[name][]Event{}, refusals: map[name][]refusal{},
		nodes: map[string]item{}, budgets: map[string][]item{}, makers: map[string][]item{},
		bound: map[string][]*corev1.Pod{}, owners: map[types.UID]metav1.OwnerReference{},
	}
}

// Add adds an object. Its own apiVersion and kind may be empty.
func (x *Index) Add(kind schema.GroupVersionKind, obj runtime.Object) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return
	}
	it := item{kind, m, obj}
	x.objects = append(x.objects, it)
	owner := metav1.GetControllerOfNoCopy(m)
	if owner != nil {
		x.parts[owner.UID] = append(x.parts[owner.UID], it)
		if kind.Kind != "Pod" || kind.Group != "" {
			x.owners[m.GetUID()] = *owner
		}
	}
	switch group := kind.Group; {
	case group == "" && kind.Kind == "Node":
		x.nodes[m.GetName()] = it
	case group == "policy" && kind.Kind == "PodDisruptionBudget":
		x.budgets[m.GetNamespace()] = append(x.budgets[m.GetNamespace()], it)
	case owner == nil && (group == "apps" || group == "batch" && kind.Kind == "Job" || group == "" && kind.Kind == "ReplicationController"):
		x.makers[m.GetNamespace()] = append(x.makers[m.GetNamespace()], it)
	}
}

// AddEvent adds an event.
func (x *Index) AddEvent(e Event) {
	key := name{e.About.Kind, e.About.Namespace, e.About.Name}
	x.events[key] = append(x.events[key], e)
}

// AddRefusal adds refused requests that an object depends on.
func (x *Index) AddRefusal(about About, r Refusal) {
	key := name{about.Kind, about.Namespace, about.Name}
	x.refusals[key] = append(x.refusals[key], refusal{about, r})
}

// refusalsOf returns the refusals about the object, without those about an earlier one of its name.
func (x *Index) refusalsOf(o *unstructured.Unstructured) []Refusal {
	var found []Refusal
	for _, r := range x.refusals[name{o.GetKind(), o.GetNamespace(), o.GetName()}] {
		if uid := o.GetUID(); r.about.UID == "" || uid == "" || r.about.UID == uid {
			found = append(found, r.Refusal)
		}
	}
	return found
}

// Subject returns the object with everything that belongs to it.
func (x *Index) Subject(o *unstructured.Unstructured) *Subject {
	left := maxSubjects
	s := x.subject(o, maxDepth, &left)
	if o.GetKind() == "Pod" {
		for _, b := range x.budgets[o.GetNamespace()] {
			budget := b.unstructured()
			if budget != nil && selects(budget, o.GetLabels(), "spec", "selector") {
				s.Budgets = append(s.Budgets, budget)
			}
		}
	}
	return &s
}

// subject returns the object with parts down to depth. At most left more may be made.
func (x *Index) subject(o *unstructured.Unstructured, depth int, left *int) Subject {
	s := Subject{Object: o, Events: x.eventsOf(o), Refusals: x.refusalsOf(o), Consumers: x.consumers(o)}
	if node, ok := x.nodes[fieldsOf(o).text("spec", "nodeName")]; ok && o.GetKind() == "Pod" {
		if s.Node = node.unstructured(); s.Node != nil {
			s.NodeRefusals = x.refusalsOf(s.Node)
		}
	}
	if depth == 0 {
		return s
	}
	ending := o.GetDeletionTimestamp() != nil
	for _, part := range x.partsOf(o.GetUID()) {
		if !ending && part.isFine() {
			continue
		}
		if len(s.Parts) == maxParts || *left == 0 {
			s.MoreParts++
			continue
		}
		if made := part.unstructured(); made != nil {
			*left--
			s.Parts = append(s.Parts, x.subject(made, depth-1, left))
		}
	}
	return s
}

// partsOf returns the objects that an object controls, sorted by kind and name.
func (x *Index) partsOf(uid types.UID) []item {
	if uid == "" {
		return nil
	}
	return slices.SortedFunc(slices.Values(x.parts[uid]), func(a, b item) int {
		return cmp.Or(cmp.Compare(a.kind.Kind, b.kind.Kind), cmp.Compare(a.meta.GetName(), b.meta.GetName()))
	})
}

// eventsOf returns the events of the object, without the events of an earlier object of its name.
func (x *Index) eventsOf(o *unstructured.Unstructured) []Event {
	uid := o.GetUID()
	return slices.DeleteFunc(slices.Clone(x.events[name{o.GetKind(), o.GetNamespace(), o.GetName()}]), func(e Event) bool {
		return e.About.UID != "" && uid != "" && e.About.UID != uid
	})
}

// Makers returns the objects in a namespace (empty: in all) that create pods with labels
// that the selector matches, and that are not as expected: they may explain missing pods.
// They are sorted by kind and name.
func (x *Index) Makers(namespace string, selector labels.Selector) []*unstructured.Unstructured {
	var found []*unstructured.Unstructured
	for in, makers := range x.makers {
		if namespace != "" && in != namespace {
			continue
		}
		for _, m := range makers {
			o := m.unstructured()
			if o == nil || !selector.Matches(labels.Set(textMap(fieldsOf(o).at("spec", "template", "metadata", "labels")))) {
				continue
			}
			if state, _ := stateOf(o); state != AsExpected {
				found = append(found, o)
			}
		}
	}
	slices.SortFunc(found, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetKind(), b.GetKind()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return found
}

// Unexpected calls do with each object that is not as expected and its report, in the order
// of addition, until do returns false.
func (x *Index) Unexpected(do func(o *unstructured.Unstructured, r Report) bool) {
	for _, it := range x.objects {
		if it.isFine() {
			continue
		}
		o := it.unstructured()
		if o == nil {
			continue
		}
		if r := Of(x.Subject(o)); r.State != AsExpected && !do(o, r) {
			return
		}
	}
}

func textMap(value any) map[string]string {
	m, _ := value.(map[string]any)
	out := make(map[string]string, len(m))
	for key, v := range m {
		out[key] = fmt.Sprint(v)
	}
	return out
}

// selects reports whether a LabelSelector in a field of o selects the labels. An invalid
// selector selects nothing.
func selects(o *unstructured.Unstructured, set map[string]string, path ...string) bool {
	field, _ := fieldsOf(o).at(path...).(map[string]any)
	var written metav1.LabelSelector
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(field, &written); err != nil || field == nil {
		return false
	}
	selector, err := metav1.LabelSelectorAsSelector(&written)
	return err == nil && selector.Matches(labels.Set(set))
}

// isFine reports, without a conversion to unstructured, whether the item is one of the many
// that are as expected.
func (it item) isFine() bool {
	if it.meta.GetDeletionTimestamp() != nil {
		return false
	}
	pod, ok := it.came.(*corev1.Pod)
	if !ok {
		return !hasStatus(it.came)
	}
	return pod.Status.Phase == corev1.PodSucceeded || slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// hasStatus reports whether objects of a type may have a status.
func hasStatus(obj runtime.Object) bool {
	t := reflect.TypeOf(obj)
	if t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
		return true
	}
	if _, untyped := obj.(runtime.Unstructured); untyped {
		return true
	}
	_, has := t.Elem().FieldByName("Status")
	return has
}

// unstructured returns the object as unstructured; nil if it cannot be converted, which is
// no API object.
func (it item) unstructured() *unstructured.Unstructured {
	return Unstructured(it.kind, it.came)
}

// Unstructured returns an object as the server would send it as JSON, with its kind; nil if
// it cannot be converted.
func Unstructured(kind schema.GroupVersionKind, obj runtime.Object) *unstructured.Unstructured {
	made, ok := obj.(*unstructured.Unstructured)
	if !ok {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
		if err != nil {
			return nil
		}
		made = &unstructured.Unstructured{Object: content}
		made.SetGroupVersionKind(kind)
	}
	return made
}
