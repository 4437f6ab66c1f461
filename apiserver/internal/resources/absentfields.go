package resources

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"minikcm.dev/minikcm/apiserver/internal/fieldplan"
	"minikcm.dev/minikcm/internal/featuregates"
	"minikcm.dev/minikcm/internal/releases"
)

// absentFields are the fields that are not there with some feature gates. Plans are made when they are
// first used, and kept for all clusters of the process.
type absentFields struct {
	// lacking are the fields that the release does not have.
	lacking map[releases.Field]bool
	// gates are the gates of fields that are off, each with its mark. The marks are the fields' that are
	// removed separately.
	gates map[featuregates.Field]int
	// lackingMark is the mark of the fields in lacking.
	lackingMark      int
	lackPlans, plans sync.Map // of *fieldplan.Plan by reflect.Type
}

var absentByGates sync.Map // of *absentFields by featuregates.Gates.Key

// fieldsFor returns the fields that are not there with some gates.
func fieldsFor(gates featuregates.Gates) *absentFields {
	if known, ok := absentByGates.Load(gates.Key()); ok {
		return known.(*absentFields)
	}
	a := &absentFields{lacking: map[releases.Field]bool{}, gates: map[featuregates.Field]int{}}
	for _, field := range gates.Lacks() {
		a.lacking[field] = true
	}
	off := gates.Off()
	for i, name := range slices.Sorted(maps.Keys(off)) {
		for _, field := range off[name] {
			// A type has fields of a few gates only.
			a.gates[field] = i % (fieldplan.MaxMarks - 1)
		}
	}
	a.lackingMark = fieldplan.MaxMarks - 1
	known, _ := absentByGates.LoadOrStore(gates.Key(), a)
	return known.(*absentFields)
}

// lackingIn finds the fields of a type that the release does not have.
func (a *absentFields) lackingIn(t reflect.Type) *fieldplan.Plan {
	return planOf(&a.lackPlans, t, func(of reflect.Type, field string) (int, bool) {
		return a.lackingMark, a.lacking[releases.Field{Type: definitionOf(of), Name: field}]
	})
}

// offIn finds the fields of a type whose gates are off, and those that the release does not have, which
// parts of the cluster may set.
func (a *absentFields) offIn(t reflect.Type) *fieldplan.Plan {
	return planOf(&a.plans, t, func(of reflect.Type, field string) (int, bool) {
		if mark, ok := a.gates[featuregates.Field(groupOf(of)+"."+of.Name()+" "+field)]; ok {
			return mark, true
		}
		return a.lackingMark, a.lacking[releases.Field{Type: definitionOf(of), Name: field}]
	})
}

func planOf(plans *sync.Map, t reflect.Type, selects fieldplan.Selector) *fieldplan.Plan {
	if known, ok := plans.Load(t); ok {
		return known.(*fieldplan.Plan)
	}
	known, _ := plans.LoadOrStore(t, fieldplan.New(t, selects))
	return known.(*fieldplan.Plan)
}

// groupOf returns the name of the folder of a type's group in k8s.io/api, such as core.
func groupOf(t reflect.Type) string {
	parts := strings.Split(t.PkgPath(), "/")
	if len(parts) < 2 {
		return ""
	}
	return parts[len(parts)-2]
}

// definitionOf returns the name of a type's OpenAPI definition without "io.k8s.".
func definitionOf(t reflect.Type) string {
	return strings.ReplaceAll(strings.TrimPrefix(t.PkgPath(), "k8s.io/"), "/", ".") + "." + t.Name()
}
