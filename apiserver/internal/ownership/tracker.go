package ownership

import (
	"bytes"
	"cmp"
	"fmt"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// maxUpdaters is the number of updating managers beyond which the library merges the
// oldest entries.
const maxUpdaters = 10

// Tracker computes managed fields. It makes its plans on first use and is safe for
// concurrent use.
type Tracker struct {
	plans  planner
	shared shared
}

// NewTracker returns a tracker without plans.
func NewTracker() *Tracker {
	return &Tracker{plans: planner{nodes: map[planKey]*node{}, roots: map[rootKey]*node{}}}
}

// Write is one write other than an apply.
type Write struct {
	// Live is the object before the write, an empty one of its type for a create. New is
	// the object after it; its managed fields are ignored.
	Live, New runtime.Object
	// Managed are the managed fields before the write.
	Managed []metav1.ManagedFieldsEntry
	// Manager made the write, of an object in APIVersion, through Subresource (empty: the
	// object itself), at Time.
	Manager, APIVersion, Subresource string
	Time                             metav1.Time
	// Ignored are the fields that the write cannot change, as paths with dots: "status", "metadata.labels".
	Ignored []string
}

// Track returns the managed fields after a write. The result may share memory with
// Managed. ok is false if the library must handle the write.
func (t *Tracker) Track(w *Write) (managed []metav1.ManagedFieldsEntry, ok bool) {
	for i := range w.Managed {
		e := &w.Managed[i]
		if e.APIVersion != w.APIVersion || e.FieldsType != "FieldsV1" || e.FieldsV1 == nil {
			return nil, false
		}
	}
	plan := t.plans.object(reflect.TypeOf(w.Live).Elem(), w.Ignored)
	c := comparisons.Get().(*comparison)
	defer c.recycle()
	found, err := plan.compare(c, present(w.Live), present(w.New))
	if err != nil {
		return nil, false
	}
	managed, err = w.settle(found, &t.shared)
	if err != nil || len(managed) > maxUpdaters {
		return nil, false
	}
	return managed, true
}

func present(obj runtime.Object) operand {
	return operand{v: reflect.ValueOf(obj).Elem(), present: true}
}

// settle removes the changed and removed fields from all managers' entries, and adds the
// changed fields to the entry of the write's manager.
func (w *Write) settle(found difference, s *shared) ([]metav1.ManagedFieldsEntry, error) {
	taken := found.taken.sub
	lost := union(taken, found.removed.sub)
	if len(lost) == 0 {
		return w.Managed, nil
	}
	managed := make([]metav1.ManagedFieldsEntry, 0, len(w.Managed)+1)
	var own set
	for i := range w.Managed {
		e := w.Managed[i]
		isOwn := len(taken) > 0 && w.isOwn(&e)
		if !isOwn && !mayHold(e.FieldsV1.GetRawBytes(), lost) {
			managed = append(managed, e)
			continue
		}
		before, err := parseSet(e.FieldsV1.GetRawBytes())
		if err != nil {
			return nil, fmt.Errorf("reading the fields of %s: %w", e.Manager, err)
		}
		after, same := without(before, lost)
		if isOwn {
			own = after
			continue
		}
		if len(after) == 0 {
			continue
		}
		if !same {
			e.FieldsV1 = s.fields(after)
		}
		managed = append(managed, e)
	}
	if len(taken) > 0 {
		// Copy the time: a pointer into the write would keep its two objects in memory as
		// long as the entry, and through their entries all earlier objects.
		now := w.Time
		managed = append(managed, metav1.ManagedFieldsEntry{
			Manager: w.Manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: w.APIVersion, Time: &now,
			FieldsType: "FieldsV1", FieldsV1: s.fields(union(own, taken)), Subresource: w.Subresource,
		})
	}
	slices.SortFunc(managed, CompareEntries)
	return managed, nil
}

// mayHold reports whether FieldsV1 may contain a field of lost: whether it includes the
// name of one of lost's top-level fields.
func mayHold(fields []byte, lost set) bool {
	return slices.ContainsFunc(lost, func(e entry) bool { return bytes.Contains(fields, []byte(e.name)) })
}

func (w *Write) isOwn(e *metav1.ManagedFieldsEntry) bool {
	return e.Operation == metav1.ManagedFieldsOperationUpdate && e.Manager == w.Manager && e.Subresource == w.Subresource
}

// CompareEntries is the order in which the library sorts the entries of an object.
func CompareEntries(a, b metav1.ManagedFieldsEntry) int {
	seconds := func(t *metav1.Time) int64 {
		if t == nil {
			return 0
		}
		return t.Unix()
	}
	return cmp.Or(
		cmp.Compare(a.Operation, b.Operation), cmp.Compare(seconds(a.Time), seconds(b.Time)),
		cmp.Compare(a.Manager, b.Manager), cmp.Compare(a.APIVersion, b.APIVersion), cmp.Compare(a.Subresource, b.Subresource),
	)
}
