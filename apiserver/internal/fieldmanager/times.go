package fieldmanager

import (
	"maps"
	"slices"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/ownership"
)

// stampManagedFields sets the cluster's time in new and changed entries, in which the
// library has put real time, and sorts the entries again, as the library does.
func stampManagedFields(obj runtime.Object, before []metav1.ManagedFieldsEntry, now metav1.Time) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return
	}
	type identity struct {
		manager, version, subresource string
		operation                     metav1.ManagedFieldsOperationType
	}
	of := func(e *metav1.ManagedFieldsEntry) identity {
		return identity{e.Manager, e.APIVersion, e.Subresource, e.Operation}
	}
	times := make(map[identity]*metav1.Time, len(before))
	for i := range before {
		times[of(&before[i])] = before[i].Time
	}
	entries := m.GetManagedFields()
	for i := range entries {
		// An apply without changes has no time.
		if taken := entries[i].Time; taken != nil && !taken.Equal(times[of(&entries[i])]) {
			entries[i].Time = &now
		}
	}
	slices.SortFunc(entries, ownership.CompareEntries)
	m.SetManagedFields(entries)
}

// KeepTimes restores the times in the managed fields of an updated object if it differs from old
// in nothing else, so that nothing is written. An apply takes the time although defaults and
// normalized values, which are set after the merge, make its result equal to the stored object. The objects are
// compared as stored converts them.
func KeepTimes(obj, old runtime.Object, stored func(runtime.Object) runtime.Object) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return
	}
	entries, before := m.GetManagedFields(), Entries(old)
	if len(entries) == 0 || !slices.EqualFunc(entries, before, sameButTime) || slices.EqualFunc(entries, before, sameTime) {
		return
	}
	m.SetManagedFields(before)
	if !equal(stored(obj), stored(old)) {
		m.SetManagedFields(entries)
	}
}

func sameTime(a, b metav1.ManagedFieldsEntry) bool { return a.Time.Equal(b.Time) }

func sameButTime(a, b metav1.ManagedFieldsEntry) bool {
	a.Time, b.Time = nil, nil
	return sameEntry(a, b)
}

// equal reports whether two objects are stored alike. Custom objects may differ in whether an
// empty value is there.
func equal(obj, old runtime.Object) bool {
	a, custom := obj.(*unstructured.Unstructured)
	b, also := old.(*unstructured.Unstructured)
	if !custom || !also {
		return apiequality.Semantic.DeepEqual(obj, old)
	}
	return maps.EqualFunc(a.Object, b.Object, func(x, y any) bool { return apiequality.Semantic.DeepEqualWithNilDifferentFromEmpty(x, y) })
}
