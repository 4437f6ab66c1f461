package resources

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"minikcm.dev/minikcm/apiserver/internal/fieldplan"
	"minikcm.dev/minikcm/internal/featuregates"
)

// lackingMark is the mark of the fields that the release does not have.
const lackingMark = fieldplan.MaxMarks - 1

// absentFields are the fields that are not there with some feature gates. Plans are made when they are
// first used, and kept for all clusters of the process.
type absentFields struct {
	// lacking are the fields that the release does not have, by the definition of their type, with lackingMark.
	lacking map[string]map[string]int
	// gates are the fields whose gates are off, by the group and name of their type, each with the mark of its gate. The
	// marks are the fields' that are removed separately.
	gates            map[string]map[string]int
	lackPlans, plans sync.Map // of *fieldplan.Plan by reflect.Type
}

var absentByGates sync.Map // of *absentFields by featuregates.Gates.Key

// fieldsFor returns the fields that are not there with some gates.
func fieldsFor(gates featuregates.Gates) *absentFields {
	if known, ok := absentByGates.Load(gates.Key()); ok {
		return known.(*absentFields)
	}
	a := &absentFields{lacking: map[string]map[string]int{}, gates: map[string]map[string]int{}}
	for _, field := range gates.Lacks() {
		setMark(a.lacking, field.Type, field.Name, lackingMark)
	}
	off := gates.Off()
	for i, name := range slices.Sorted(maps.Keys(off)) {
		for _, field := range off[name] {
			// A type has fields of a few gates only.
			of, name, _ := strings.Cut(string(field), " ")
			setMark(a.gates, of, name, i%lackingMark)
		}
	}
	known, _ := absentByGates.LoadOrStore(gates.Key(), a)
	return known.(*absentFields)
}

func setMark(marks map[string]map[string]int, of, field string, mark int) {
	if marks[of] == nil {
		marks[of] = map[string]int{}
	}
	marks[of][field] = mark
}

// lackingIn finds the fields of a type that the release does not have.
func (a *absentFields) lackingIn(t reflect.Type) *fieldplan.Plan {
	return planOf(&a.lackPlans, t, func(of reflect.Type) map[string]int { return a.lacking[definitionOf(of)] })
}

// offIn finds the fields of a type whose gates are off, and those that the release does not have, which
// parts of the cluster may set.
func (a *absentFields) offIn(t reflect.Type) *fieldplan.Plan {
	return planOf(&a.plans, t, func(of reflect.Type) map[string]int {
		off, lacking := a.gates[groupOf(of)+"."+of.Name()], a.lacking[definitionOf(of)]
		if len(lacking) == 0 {
			return off
		}
		all := maps.Clone(lacking)
		maps.Copy(all, off)
		return all
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
