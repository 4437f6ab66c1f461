package loopapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientscheme "k8s.io/client-go/kubernetes/scheme"

	"minikcm.dev/minikcm/internal/loop"
)

// scheme has the kinds whose resources are named.
var scheme = clientscheme.Scheme

// Decision says what a reconcile decided, and by which numbers.
type Decision struct {
	// Owner is the name of the object that is reconciled, with its kind where no numbers are known.
	Owner string `json:"owner"`
	// Counts is what Wants and Has count: pod, or replica for a Deployment, whose ReplicaSets have them. Empty: no numbers are known.
	Counts string `json:"counts,omitempty"`
	Wants  int    `json:"wants,omitempty"`
	Has    int    `json:"has,omitempty"`
	// Actions are the writes that were decided, in their order.
	Actions []Action `json:"actions,omitempty"`
}

// Action is a write that was decided.
type Action struct {
	// Verb is the verb of the request, or updateStatus.
	Verb string `json:"verb"`
	Kind string `json:"kind,omitempty"`
	// Name is the name of the only object; empty if there are several, or if it gets a generated name. Count is how many there are.
	Name    string   `json:"name,omitempty"`
	Count   int      `json:"count,omitempty"`
	Changes []Change `json:"changes,omitempty"`
}

// Change is a number of the object that changes.
type Change struct {
	Field string  `json:"field"`
	Was   float64 `json:"was"`
	Now   float64 `json:"now"`
}

// decisionOf describes a decision; nil if there was no object to decide on.
func decisionOf(d loop.Stop) *Decision {
	if d.Object == nil {
		return nil
	}
	is := situation(d)
	for _, act := range d.Actions {
		is.Actions = append(is.Actions, actionOf(d, act))
	}
	return is
}

// String says what was decided, and why: "web wants 3 pods and has 2: create 1 Pod".
func (d *Decision) String() string {
	var does []string
	for _, a := range d.Actions {
		does = append(does, a.String())
	}
	if len(does) == 0 {
		return d.numbers() + ": nothing to write."
	}
	return d.numbers() + ": " + strings.Join(does, ", then ") + "."
}

// numbers says what the owner wants and has.
func (d *Decision) numbers() string {
	switch d.Counts {
	case "":
		return d.Owner
	case "replica":
		return fmt.Sprintf("%s wants %s, and its ReplicaSets want %d", d.Owner, count(d.Wants, d.Counts), d.Has)
	}
	return fmt.Sprintf("%s wants %s and has %d", d.Owner, count(d.Wants, d.Counts), d.Has)
}

// situation compares what an owner wants with what it has, if it wants a number.
func situation(d loop.Stop) *Decision {
	wants, of, known := wanted(d.Object)
	if !known {
		return &Decision{Owner: kindOf(d.Object) + " " + d.Object.GetName()}
	}
	has := 0
	for _, c := range d.Caches {
		for _, o := range c.Controlled {
			switch o := o.(type) {
			case *corev1.Pod:
				if of == "pod" && o.DeletionTimestamp == nil && o.Status.Phase != corev1.PodSucceeded && o.Status.Phase != corev1.PodFailed {
					has++
				}
			case *appsv1.ReplicaSet:
				if of == "replica" && o.Spec.Replicas != nil {
					has += int(*o.Spec.Replicas)
				}
			}
		}
	}
	return &Decision{Owner: d.Object.GetName(), Counts: of, Wants: wants, Has: has}
}

// wanted returns the number of dependents that an owner wants.
func wanted(o metav1.Object) (n int, of string, known bool) {
	number := func(n *int32) int {
		if n == nil {
			return 1
		}
		return int(*n)
	}
	switch o := o.(type) {
	case *appsv1.Deployment:
		return number(o.Spec.Replicas), "replica", true
	case *appsv1.ReplicaSet:
		return number(o.Spec.Replicas), "pod", true
	case *appsv1.StatefulSet:
		return number(o.Spec.Replicas), "pod", true
	case *corev1.ReplicationController:
		return number(o.Spec.Replicas), "pod", true
	case *batchv1.Job:
		return number(o.Spec.Parallelism), "pod", true
	}
	return 0, "", false
}

func actionOf(d loop.Stop, act loop.Act) Action {
	a := Action{Verb: act.Verb, Count: len(act.Objects)}
	if len(act.Objects) == 0 {
		return a
	}
	first := act.Objects[0]
	a.Kind = kindOf(first)
	switch {
	case act.Verb == "updateStatus":
		a.Changes = changes(status(d.Cached), status(first))
	case len(act.Objects) > 1 || first.GetName() == "":
	case act.Verb == "update":
		a.Name, a.Changes = first.GetName(), changes(spec(cached(d, first)), spec(first))
	default:
		a.Name = first.GetName()
	}
	return a
}

// String says what is written: "update ReplicaSet web-1 (replicas 2 → 3)".
func (a Action) String() string {
	var changed []string
	for _, c := range a.Changes {
		changed = append(changed, fmt.Sprintf("%s %v → %v", c.Field, c.Was, c.Now))
	}
	text := a.Verb
	switch {
	case a.Count == 0:
	case a.Verb == "updateStatus":
		text = "write its status"
	case a.Name == "":
		text += " " + count(a.Count, a.Kind)
	default:
		text += " " + a.Kind + " " + a.Name
	}
	if len(changed) > 0 {
		text += " (" + strings.Join(changed, ", ") + ")"
	}
	return text
}

// cached returns an object as the caches have it; nil: they do not.
func cached(d loop.Stop, o metav1.Object) metav1.Object {
	for _, c := range d.Caches {
		for _, other := range c.Controlled {
			if other.GetUID() == o.GetUID() {
				return other
			}
		}
	}
	return d.Cached
}

// changes lists the numbers that differ.
func changes(old, now map[string]any) (all []Change) {
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if is, ok := now[name].(float64); ok && name != "observedGeneration" && now[name] != old[name] {
			was, _ := old[name].(float64)
			all = append(all, Change{Field: name, Was: was, Now: is})
		}
	}
	return all
}

func spec(o metav1.Object) map[string]any   { return fields(o).Spec }
func status(o metav1.Object) map[string]any { return fields(o).Status }

// fields returns an object's spec and status; they are empty if the object has none.
func fields(o metav1.Object) (f struct{ Spec, Status map[string]any }) {
	data, err := json.Marshal(o)
	if o == nil || err != nil {
		return f
	}
	_ = json.Unmarshal(data, &f) // it is JSON; fields of other types stay empty
	return f
}

// count formats a number with a noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// listed joins names, at most a few.
func listed(names []string) string {
	if len(names) > 3 {
		return fmt.Sprintf("%s and %d more keys", strings.Join(names[:3], ", "), len(names)-3)
	}
	return strings.Join(names, ", ")
}
