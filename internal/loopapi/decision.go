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

// decision says what a reconcile has decided, and why: "web wants 3 pods and has 2: create 1 Pod".
func decision(d loop.Stop) string {
	if d.Object == nil {
		return "Nothing to write for " + d.Key + "."
	}
	why, known := situation(d)
	if !known {
		why = kindOf(d.Object) + " " + d.Object.GetName()
	}
	var does []string
	for _, act := range d.Actions {
		does = append(does, actText(d, act))
	}
	if len(does) == 0 {
		return why + ": nothing to write."
	}
	return why + ": " + strings.Join(does, ", then ") + "."
}

// situation compares what an owner wants with what it has, if it wants a number.
func situation(d loop.Stop) (text string, known bool) {
	name := d.Object.GetName()
	wants, of, known := wanted(d.Object)
	if !known {
		return "", false
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
	if of == "replica" {
		return fmt.Sprintf("%s wants %s, and its ReplicaSets want %d", name, count(wants, of), has), true
	}
	return fmt.Sprintf("%s wants %s and has %d", name, count(wants, of), has), true
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

func actText(d loop.Stop, act loop.Act) string {
	if len(act.Objects) == 0 {
		return act.Verb
	}
	first := act.Objects[0]
	switch {
	case act.Verb == "updateStatus":
		return "write its status" + changes(status(d.Cached), status(first))
	case len(act.Objects) > 1 || first.GetName() == "":
		return fmt.Sprintf("%s %s", act.Verb, count(len(act.Objects), kindOf(first)))
	case act.Verb == "update":
		return fmt.Sprintf("update %s %s%s", kindOf(first), first.GetName(), changes(spec(cached(d, first)), spec(first)))
	}
	return fmt.Sprintf("%s %s %s", act.Verb, kindOf(first), first.GetName())
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

// changes lists the plain fields that differ: " (replicas 2 → 3)".
func changes(old, now map[string]any) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if _, ok := now[name].(float64); ok && name != "observedGeneration" && now[name] != old[name] {
			was := old[name]
			if was == nil {
				was = 0
			}
			all = append(all, fmt.Sprintf("%s %v → %v", name, was, now[name]))
		}
	}
	if len(all) == 0 {
		return ""
	}
	return " (" + strings.Join(all, ", ") + ")"
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
