package check

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/internal/scenario/spec"
)

// Differs is the error of a check that does not hold, or does not hold yet. Other errors say
// that the check could not be made.
type Differs struct {
	// Text says what differs; Diff has a line for every field that does.
	Text string
	Diff []string
	// Objects are the objects that the check is about.
	Objects []*unstructured.Unstructured
	// Reasons are why the first maxExplained of these objects, or the objects that should
	// have made them, are not as expected, from what the API shows. Explain adds them.
	Reasons []Reason
	// Numbers explain the number of the objects. Explain adds them.
	Numbers []string
	// gone are the UIDs of the objects that no longer exist.
	gone []types.UID
	// final says that the check will never hold.
	final bool
	// surplus says that the objects should not exist.
	surplus bool
	// numeric says that the check is about a number of objects.
	numeric bool
	// others are the objects of a long list. Only those matter that are not as expected.
	others []*unstructured.Unstructured
	// missing says which pods are too few; nil if the check is about something else.
	missing *shortage
	// more adds details that only the report of a failure needs. Collecting them after
	// every event would be too slow. See Expectation.Explain.
	more func(d *Differs)
}

// Error puts the reasons before the differences, which follow from them. If the text ends
// with a colon, it introduces the differences, which then come first.
func (d *Differs) Error() string {
	var why []string
	for i := range d.Reasons {
		why = append(why, d.Reasons[i].lines()...)
	}
	why = append(why, d.Numbers...)
	lines := []string{d.Text}
	if strings.HasSuffix(d.Text, ":") {
		lines = append(append(lines, d.Diff...), why...)
	} else {
		lines = append(append(lines, why...), d.Diff...)
	}
	return strings.Join(lines, "\n  ")
}

// IsDiffers reports whether err consists of Differs that may still go away.
func IsDiffers(err error) bool {
	all := Differences(err)
	return len(all) > 0 && !slices.ContainsFunc(all, func(d *Differs) bool { return d.final })
}

// Differences returns all Differs that err wraps.
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

// missing returns a stand-in for an object that does not exist, to find out why.
func missing(kind schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

// blame puts the objects first because of which a check fails.
func (d *Differs) blame(culprits []*unstructured.Unstructured) {
	if len(culprits) == 0 {
		return
	}
	d.Diff = append([]string{violatedBy(culprits)}, d.Diff...)
	rest := slices.DeleteFunc(slices.Clone(d.Objects), func(o *unstructured.Unstructured) bool {
		return slices.ContainsFunc(culprits, func(c *unstructured.Unstructured) bool { return c.GetUID() == o.GetUID() && TitleOf(c) == TitleOf(o) })
	})
	d.Objects = append(slices.Clone(culprits), rest...)
}

// maxNearest caps the objects that are reported as missing from a count, and maxLooked the
// objects among which they are looked for.
const (
	maxNearest = 3
	maxLooked  = 200
	// maxGone caps the deleted objects that a view keeps.
	maxGone = 3
)

// nearest adds the objects that come closest to being counted, and the deleted ones. It adds
// nothing for Events, since one Event never explains why another is missing.
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

// about adds the objects that most likely explain why there are too few, the likeliest
// first, since only the first are explained: an object that lacks something, the objects
// that counted when they were deleted, such as killed pods, and the others.
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

// nearestTo adds the object of a list that is nearest to the expected one.
func (d *Differs) nearestTo(o *spec.Object, list []*unstructured.Unstructured) {
	var nearest *unstructured.Unstructured
	for _, got := range list {
		if diff := Difference(o.Object, got.Object); nearest == nil || len(diff) < len(d.Diff) {
			nearest, d.Diff = got, diff
		}
	}
	d.Text = fmt.Sprintf("%s; the nearest of %d is %s:", d.Text, len(list), TitleOf(nearest))
	d.Objects = []*unstructured.Unstructured{nearest}
}
