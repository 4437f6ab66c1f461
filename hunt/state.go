package hunt

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"minikcm.dev/minikcm/internal/comparison"
)

// state are the objects of a cluster, with names that are the same in all runs.
type state map[comparison.Key]map[string]any

// notState are resources that are not part of a state: what happened, who leads, and machines.
var notState = []string{"events", "leases", "nodes", "csinodes", "apiservices", "flowschemas", "prioritylevelconfigurations"}

// capture keeps in an outcome the objects of all resources that were written, or only of some of them if only is not nil. The record of
// writes may have lost the oldest.
func (c *course) capture(ctx context.Context, out *outcome, only map[schema.GroupVersionResource]bool, ignore func(kind, namespace, name string) bool) error {
	client, err := dynamic.NewForConfig(c.cluster.Config())
	if err != nil {
		return err
	}
	c.mu.Lock()
	resources := slices.Collect(maps.Keys(c.resources))
	c.mu.Unlock()
	if only != nil {
		resources = slices.DeleteFunc(resources, func(r schema.GroupVersionResource) bool { return !only[r] })
	}
	out.kinds = map[schema.GroupVersionResource]schema.GroupKind{}
	var all []unstructured.Unstructured
	for _, r := range slices.SortedFunc(slices.Values(resources), func(a, b schema.GroupVersionResource) int { return cmp.Compare(a.String(), b.String()) }) {
		list, err := client.Resource(r).List(ctx, metav1.ListOptions{})
		if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
			continue // its definition is gone, or it is no kind that is stored
		}
		if err != nil {
			return fmt.Errorf("reading the state at the end: listing %s: %w", r.GroupResource(), err)
		}
		if len(list.Items) > 0 {
			out.kinds[r] = list.Items[0].GroupVersionKind().GroupKind()
		}
		all = append(all, list.Items...)
	}
	all = slices.DeleteFunc(all, func(o unstructured.Unstructured) bool { return ignore(o.GetKind(), o.GetNamespace(), o.GetName()) })
	out.state, out.behind = named(all), map[string]string{}
	for i := range all {
		if text := behindOf(&all[i]); text != "" {
			out.behind[fmt.Sprintf("%s %s/%s", all[i].GroupVersionKind().GroupKind(), all[i].GetNamespace(), c.nameInAllRuns(all[i].GetName()))] = text
		}
	}
	return nil
}

// named gives the objects their keys. A name that the server has generated becomes its prefix and a number, in the order of the
// objects' content, and so does each mention of it.
//
// The hashes in the names of ReplicaSets and their pods are no part of them: a Deployment that is created again meets its old ReplicaSet,
// and takes another hash.
func named(all []unstructured.Unstructured) state {
	generated, hashes := map[string]string{}, hashesOf(all)
	for _, o := range all {
		if same, ok := chosen(o.GetName(), o.GetGenerateName()); ok {
			generated[o.GetName()] = same
		}
	}
	type one struct {
		key  comparison.Key
		text string
		body map[string]any
	}
	var sorted []one
	for _, o := range all {
		body, _ := renamed(o.Object, generated, hashes).(map[string]any)
		forgetGrowth(body)
		gvk := o.GroupVersionKind()
		name := o.GetName()
		if other, ok := generated[name]; ok {
			name = other
		}
		name = hashes.Replace(name)
		text, err := json.Marshal(comparison.Lasting(body))
		if err != nil {
			text = nil // it came as JSON
		}
		sorted = append(sorted, one{comparison.Key{Group: gvk.Group, Kind: gvk.Kind, Namespace: o.GetNamespace(), Name: name}, string(text), body})
	}
	slices.SortStableFunc(sorted, func(a, b one) int { return cmp.Compare(a.text, b.text) })
	s, number := state{}, map[comparison.Key]int{}
	for _, o := range sorted {
		key := o.key
		if strings.HasSuffix(key.Name, "*") {
			number[key]++
			key.Name += fmt.Sprint(number[key])
		}
		s[key] = o.body
	}
	return s
}

// forgetGrowth removes from a claim what it was granted while it grew, if it has that size now. A claim that was created with this size has
// none: an operator that was away when the user chose the first size creates such a claim.
func forgetGrowth(body map[string]any) {
	status, _ := body["status"].(map[string]any)
	if body["kind"] == "PersistentVolumeClaim" && reflect.DeepEqual(status["allocatedResources"], status["capacity"]) {
		delete(status, "allocatedResources")
	}
}

// hashesOf replaces the hashes of templates.
func hashesOf(all []unstructured.Unstructured) *strings.Replacer {
	var pairs []string
	for i := range all {
		if hash := all[i].GetLabels()[appsv1.DefaultDeploymentUniqueLabelKey]; hash != "" && all[i].GetKind() == "ReplicaSet" {
			pairs = append(pairs, hash, "*")
		}
	}
	return strings.NewReplacer(pairs...)
}

// renamed returns a copy of a value with other names.
func renamed(value any, names map[string]string, hashes *strings.Replacer) any {
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, field := range v {
			out[key] = renamed(field, names, hashes)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = renamed(item, names, hashes)
		}
		return out
	case string:
		if other, ok := names[v]; ok {
			v = other
		}
		return hashes.Replace(v)
	}
	return value
}

// difference is one way in which the end of a run differs from the end of the undisturbed one.
type difference struct {
	kind, name string
	// path is a field of an object that both have; empty for an object that only one has.
	path string
	// with and without are the values of the field, or "exists" for the run that has the object.
	with, without string
}

func (d difference) String() string {
	switch {
	case d.path != "":
		return fmt.Sprintf("%s %s: %s is %s, undisturbed %s", d.kind, d.name, d.path, orNone(d.with), orNone(d.without))
	case d.with != "":
		return fmt.Sprintf("%s %s exists, undisturbed it does not", d.kind, d.name)
	}
	return fmt.Sprintf("%s %s does not exist, undisturbed it does", d.kind, d.name)
}

func orNone(value string) string {
	if value == "" {
		return "not set"
	}
	return value
}

// isTrace reports whether the difference is a trace of a change that was undone: how often an object has changed, the revisions that
// Deployments, StatefulSets and DaemonSets keep, the volumes of further pods of a StatefulSet, and how often pods have started.
func (d difference) isTrace() bool {
	return d.kind == "PersistentVolumeClaim" || d.kind == "PersistentVolume" || d.kind == "Pod" && d.path != "" || d.kind == "ReplicaSet" || d.kind == "ControllerRevision" || strings.HasSuffix(d.path, "observedGeneration") || strings.HasSuffix(d.path, "generation") ||
		strings.Contains(d.path, "deployment.kubernetes.io/") || strings.HasSuffix(d.path, "Revision")
}

// place identifies what differs, whatever the values are.
func (d difference) place() string { return d.kind + " " + d.name + " " + d.path }

// differences compares the end of a run with the undisturbed one.
func differences(with, without state) []difference {
	var c comparison.Comparison
	for key, object := range with {
		c.Set(comparison.Here, key, object)
	}
	for key, object := range without {
		c.Set(comparison.There, key, object)
	}
	var all []difference
	for _, k := range c.Kinds() {
		for _, name := range k.OnlyHere {
			all = append(all, difference{kind: k.Kind, name: name, with: "exists"})
		}
		for _, name := range k.OnlyThere {
			all = append(all, difference{kind: k.Kind, name: name, without: "exists"})
		}
		for _, o := range k.Objects {
			for _, f := range o.Fields {
				if strings.HasSuffix(f.Path, "collisionCount") {
					continue
				}
				all = append(all, difference{kind: k.Kind, name: o.Name, path: f.Path, with: f.Here, without: f.There})
			}
		}
	}
	return all
}
