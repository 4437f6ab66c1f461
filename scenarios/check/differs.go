package check

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/scenarios/format"
)

// Differs is an error that says that the cluster is not (yet) as wanted. Other errors
// say that this cannot be found out.
type Differs struct {
	// Text says what differs; Diff has a line for every field that does.
	Text string
	Diff []string
	// Objects are those that it is about.
	Objects []*unstructured.Unstructured
	// Reasons are what the API says of why those objects, or those that were to make them,
	// are not as expected: of the first maxExplained, which Explain adds.
	Reasons []Reason
	// gone are the UIDs of those among the objects that are not there any more.
	gone []types.UID
	// final says that it will not become as wanted.
	final bool
	// surplus says that the objects were not to be there.
	surplus bool
	// others are those of a long list, of which the ones matter that are not as expected.
	others []*unstructured.Unstructured
	// missing says which pods there are too few of; nil: it is not about that.
	missing *shortage
	// more adds what only a failure is told with: to find it after every event would
	// take longer than what is waited for. See Expectation.Explain.
	more func(d *Differs)
}

// Error has the reasons before the differences, which follow from them, unless the text
// leads to the differences.
func (d *Differs) Error() string {
	var why []string
	for i := range d.Reasons {
		why = append(why, d.Reasons[i].lines()...)
	}
	lines := []string{d.Text}
	if strings.HasSuffix(d.Text, ":") {
		lines = append(append(lines, d.Diff...), why...)
	} else {
		lines = append(append(lines, why...), d.Diff...)
	}
	return strings.Join(lines, "\n  ")
}

// IsDiffers says whether err is only about how the cluster is now, and may become
// otherwise.
func IsDiffers(err error) bool {
	all := Differences(err)
	return len(all) > 0 && !slices.ContainsFunc(all, func(d *Differs) bool { return d.final })
}

// Differences are all that err is made of.
func Differences(err error) []*Differs {
	if d, ok := err.(*Differs); ok { // the tree is walked here
		return []*Differs{d}
	}
	var all []*Differs
	switch wrapped := err.(type) { // likewise
	case interface{ Unwrap() []error }:
		for _, inner := range wrapped.Unwrap() {
			all = append(all, Differences(inner)...)
		}
	case interface{ Unwrap() error }:
		all = Differences(wrapped.Unwrap())
	}
	return all
}

// missing names an object that is not there: why not may be known.
func missing(kind schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

// maxNearest bounds how many objects are told of that are missing from a count, and
// maxLooked among how many they are looked for.
const (
	maxNearest = 3
	maxLooked  = 200
	// maxGone is how many a view keeps of those that went.
	maxGone = 3
)

// nearest adds, where there are too few, those that lack least to be counted, and those
// that went. Of events neither tells why others did not happen.
func (d *Differs) nearest(where map[string]any, view *View) {
	least := 0
	var lines []string
	var lacking []*unstructured.Unstructured
	list := view.List()
	for _, o := range list[:min(len(list), maxLooked)] {
		if o.GetKind() == "Event" {
			return
		}
		diff := Difference(where, o.Object)
		if len(diff) == 0 || least > 0 && len(diff) > least {
			continue
		}
		if len(diff) < least {
			lines, lacking = nil, nil
		}
		least = len(diff)
		if len(lacking) < maxNearest {
			lacking = append(lacking, o)
			lines = append(lines, TitleOf(o)+": "+strings.Join(diff, "; "))
		}
	}
	d.Diff = lines
	d.about(where, lacking, view.gone)
}

// about adds the objects that most likely tell why there are too few, of which only the
// first are explained: one that lacks something, those that went while they counted, as
// pods that were killed, and the others.
func (d *Differs) about(where map[string]any, lacking []*unstructured.Unstructured, gone []*viewed) {
	one := min(len(lacking), 1)
	d.Objects = append(d.Objects, lacking[:one]...)
	var others []*unstructured.Unstructured
	for _, o := range gone {
		d.gone = append(d.gone, o.unstructured().GetUID())
		if o.covers(where) {
			d.Objects = append(d.Objects, o.unstructured())
		} else {
			others = append(others, o.unstructured())
		}
	}
	d.Objects = append(d.Objects, lacking[one:]...)
	d.Objects = append(d.Objects, others...)
}

// nearestTo adds which one of a list lacks least to be as expected.
func (d *Differs) nearestTo(o *format.Object, list []*unstructured.Unstructured) {
	var nearest *unstructured.Unstructured
	for _, got := range list {
		if diff := Difference(o.Object, got.Object); nearest == nil || len(diff) < len(d.Diff) {
			nearest, d.Diff = got, diff
		}
	}
	d.Text = fmt.Sprintf("%s; the nearest of %d is %s:", d.Text, len(list), TitleOf(nearest))
	d.Objects = []*unstructured.Unstructured{nearest}
}
