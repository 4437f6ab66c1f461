package check

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/internal/reasons"
)

// maxExplained caps the objects of one failure whose reasons are reported.
const maxExplained = 3

// Reason is why one or several objects are not as expected.
type Reason struct {
	Objects []*unstructured.Unstructured
	Report  reasons.Report
}

// maxLines caps the reasons that are reported of each object.
const maxLines = 2

// lines are the first reasons: "pod/web-1 and 2 more: not ready because ...", and the next
// one beneath.
func (r *Reason) lines() []string {
	first := r.Objects[0]
	objects := reasons.FullName(first.GetKind(), first.GetNamespace(), first.GetName())
	if more := len(r.Objects) - 1; more > 0 {
		objects += fmt.Sprintf(" and %d more", more)
	}
	lines := []string{r.Report.Sentence(objects)}
	for _, other := range r.Report.Reasons[1:min(len(r.Report.Reasons), maxLines)] {
		lines = append(lines, "  "+other.String())
	}
	return lines
}

// shortage says which pods are too few.
type shortage struct {
	namespace string
	selector  labels.Selector
}

// shortageOf returns the shortage of a query for pods; nil for other kinds, whose makers are
// not known.
func shortageOf(q Query) *shortage {
	if q.Resource.GroupResource() != (schema.GroupResource{Resource: "pods"}) || q.FieldSelector != "" {
		return nil
	}
	selector, err := labels.Parse(q.Selector)
	if err != nil {
		return nil
	}
	return &shortage{namespace: q.Namespace, selector: selector}
}

// detail adds what the views show now to an error about them. The caller holds their mutex.
func detail(err error) {
	for _, d := range Differences(err) {
		if d.more != nil {
			d.more(d)
			d.more = nil
		}
	}
}

// explainLocked is Explain for callers that hold the mutex of the views that err is about.
func (x *Expectation) explainLocked(ctx context.Context, err error) {
	detail(err)
	e := explanation{known: func(namespace string) *reasons.Index { return x.known(ctx, namespace) }, indices: map[string]*reasons.Index{}}
	for _, d := range Differences(err) {
		if x.known != nil && len(d.Reasons) == 0 {
			e.explain(d)
		}
	}
}

// explanation finds the reasons of the objects that one error is about.
type explanation struct {
	known   func(namespace string) *reasons.Index
	indices map[string]*reasons.Index
}

func (e *explanation) explain(d *Differs) {
	for _, o := range d.Objects[:min(len(d.Objects), maxExplained)] {
		e.add(d, o)
		e.count(d, o)
	}
	if len(d.Reasons) == 0 {
		e.addFound(d, d.others)
	}
	if len(d.Reasons) == 0 && d.missing != nil {
		e.addFound(d, e.index(d.missing.namespace).Makers(d.missing.namespace, d.missing.selector))
	}
}

// count adds what decides how many objects there are like this one, if their number is wrong, or which
// autoscaler sets the object's own number of replicas.
func (e *explanation) count(d *Differs, o *unstructured.Unstructured) {
	index := e.index(o.GetNamespace())
	text := index.Autoscaling(o)
	if d.numeric {
		text = index.Control(o)
	}
	if text != "" && !slices.Contains(d.Numbers, text) {
		d.Numbers = append(d.Numbers, text)
	}
}

// addFound adds the first objects that are not as expected.
func (e *explanation) addFound(d *Differs, objects []*unstructured.Unstructured) {
	found := 0
	for _, o := range objects {
		if found == maxExplained {
			return
		}
		if e.add(d, o) {
			found++
			d.Objects = append(d.Objects, o)
		}
	}
}

// add adds why an object is not as expected, if that is known. Objects with the same reason
// share it.
func (e *explanation) add(d *Differs, o *unstructured.Unstructured) bool {
	if o.GetUID() == "" || slices.Contains(d.gone, o.GetUID()) {
		return false // it does not exist
	}
	subject := e.index(o.GetNamespace()).Subject(o)
	report := reasons.Of(subject)
	if d.surplus {
		report = reasons.Present(subject)
	}
	if len(report.Reasons) == 0 {
		return false
	}
	if i := slices.IndexFunc(d.Reasons, func(r Reason) bool { return r.Report.Sentence("") == report.Sentence("") }); i >= 0 {
		d.Reasons[i].Objects = append(d.Reasons[i].Objects, o)
		return true
	}
	d.Reasons = append(d.Reasons, Reason{Objects: []*unstructured.Unstructured{o}, Report: report})
	return true
}

func (e *explanation) index(namespace string) *reasons.Index {
	if e.indices[namespace] == nil {
		e.indices[namespace] = e.known(namespace)
	}
	return e.indices[namespace]
}
