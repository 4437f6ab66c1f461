package fault

import (
	"reflect"
	"slices"
	"strings"
)

// Lasting says whether the effect of an action lasts until it is taken back.
type Lasting int

// The ways to last.
const (
	// Momentary actions leave nothing to take back.
	Momentary Lasting = iota
	// LastingIfFor actions last only if the fault has a For.
	LastingIfFor
	// LastingAlways actions last for the fault's For, or until the fault is stopped.
	LastingAlways
)

// Action is a row of the table of a part's actions. Validation, the flags of "minikcm fault" and
// docs/faults.md follow it.
type Action struct {
	// Name is the action's value in the field "action".
	Name string
	// Does says in one line what the action does.
	Does string
	// Lasts says whether the effect has to be taken back.
	Lasts Lasting
	// ByAPI says that the action uses nothing but the Kubernetes API, so that it works on
	// any cluster.
	ByAPI bool
	// Fields are the fields of the part, by their names in YAML, that have a meaning for
	// this action and not for all actions of the part.
	Fields []string
}

// Part is a row of the table of the things that faults can break.
type Part struct {
	// Name is the field of a fault, such as nodes, and One what a single one is called,
	// such as node.
	Name, One string
	Actions   []Action

	is reflect.Type
}

// Parts returns what can be broken, in the order of docs/faults.md.
func Parts() []Part {
	return []Part{
		{Name: "pods", One: "pod", Actions: podActions, is: reflect.TypeFor[Pods]()},
		{Name: "nodes", One: "node", Actions: nodeActions, is: reflect.TypeFor[Nodes]()},
		{Name: "network", One: "network", Actions: networkActions, is: reflect.TypeFor[Network]()},
		{Name: "dns", One: "dns", Actions: dnsActions, is: reflect.TypeFor[DNS]()},
		{Name: "http", One: "http", Actions: httpActions, is: reflect.TypeFor[HTTP]()},
		{Name: "apiserver", One: "apiserver", Actions: apiActions, is: reflect.TypeFor[APIServer]()},
		{Name: "etcd", One: "etcd", Actions: etcdActions, is: reflect.TypeFor[Etcd]()},
		{Name: "webhooks", One: "webhook", Actions: webhookActions, is: reflect.TypeFor[Webhooks]()},
		{Name: "controllers", One: "controller", Actions: controllerActions, is: reflect.TypeFor[Controllers]()},
		{Name: "clock", One: "clock", Actions: clockActions, is: reflect.TypeFor[Clock]()},
	}
}

// Definition returns the name of the part's definition in the schema of scenarios.
func (p Part) Definition() string { return "Fault" + p.is.Name() }

// AllFields returns the part's fields except action.
func (p Part) AllFields() []Field {
	return slices.DeleteFunc(fieldsOf(p.is), func(f Field) bool { return f.Name == "action" })
}

// Takers returns the actions that a field has a meaning for; nil if it has one for all.
func (p Part) Takers(field string) []string { return takers(p.Actions, field) }

// TimeFields returns the fields of a fault itself, which say when it is injected and how
// often.
func TimeFields() []Field {
	return slices.DeleteFunc(fieldsOf(reflect.TypeFor[Fault]()), func(f Field) bool { return f.Type.Kind() == reflect.Pointer })
}

// Field is a field of a fault or of one of its parts.
type Field struct {
	// Name is its name in YAML.
	Name string
	// Type is string, bool, int, Duration, []string, or a pointer to one of them.
	Type  reflect.Type
	index []int
}

// fieldsOf returns the fields of a struct, including the fields of inlined structs.
func fieldsOf(t reflect.Type) []Field {
	var fields []Field
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case options == "inline":
			for _, inner := range fieldsOf(f.Type) {
				inner.index = append([]int{i}, inner.index...)
				fields = append(fields, inner)
			}
		case f.IsExported() && name != "" && name != "-":
			fields = append(fields, Field{Name: name, Type: f.Type, index: []int{i}})
		}
	}
	return fields
}

// find returns the row of an action.
func find(actions []Action, name string) (Action, bool) {
	i := slices.IndexFunc(actions, func(a Action) bool { return a.Name == name })
	if i < 0 {
		return Action{}, false
	}
	return actions[i], true
}

// names are the actions' names.
func names(actions []Action) []string {
	all := make([]string, len(actions))
	for i := range actions {
		all[i] = actions[i].Name
	}
	return all
}

// takers returns the actions that a field has a meaning for; nil if it has one for all.
func takers(actions []Action, field string) []string {
	var all []string
	for i := range actions {
		if slices.Contains(actions[i].Fields, field) {
			all = append(all, actions[i].Name)
		}
	}
	return all
}

// allows reports whether a field has a meaning for an action.
func allows(actions []Action, action, field string) bool {
	only := takers(actions, field)
	return len(only) == 0 || slices.Contains(only, action)
}
