package hunt

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

const (
	// maxEdits caps the changes of one object's fields, and maxDepth how deep the fields are.
	maxEdits = 24
	maxDepth = 5
)

// edit is a change of a field to a value in JSON.
type edit struct{ path, value string }

// possibleActs returns what users can do to the objects of an undisturbed run that is over, without the writes at which they do it:
// recreate what they have created and the operator watches, change the fields of custom resources by their schemas and take the
// finalizers, take labels and owner references from what the operator has created, scale it down, and delete its pods; and
// that the node with most of its pods is lost.
func (c *course) possibleActs(ctx context.Context) ([]Disturbance, error) {
	schemas, err := c.schemas(ctx)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var acts []Disturbance
	for _, key := range slices.Sorted(maps.Keys(c.subjects)) {
		s := c.subjects[key]
		object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(s.last)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", key, err)
		}
		resource, ref, _ := strings.Cut(key, " ")
		var edits []edit
		o := unstructured.Unstructured{Object: object}
		switch {
		case o.GetGenerateName() != "":
			continue // no other run has the name
		case !s.users:
			if len(o.GetLabels()) > 0 {
				edits = append(edits, edit{"metadata.labels", "null"})
			}
			if len(o.GetOwnerReferences()) > 0 {
				edits = append(edits, edit{"metadata.ownerReferences", "null"})
			}
			if n, ok, _ := unstructured.NestedInt64(object, "spec", "replicas"); ok && n > 0 && s.resource.Group == "apps" {
				edits = append(edits, edit{"spec.replicas", "0"})
			}
			if runsPods(s.resource) && c.touched[podsResource] {
				acts = append(acts, Disturbance{Action: DeletePods, Resource: resource, Object: ref})
			}
		case c.watched[resource]:
			acts = append(acts, Disturbance{Action: Recreate, Resource: resource, Object: ref})
			properties, _, _ := unstructured.NestedMap(schemas[s.resource], "properties", "spec")
			spec, _, _ := unstructured.NestedMap(object, "spec")
			edits = editsOf(properties, spec, "spec", 0)
			if s.kept {
				edits = append([]edit{{finalizersPath, "null"}}, edits...)
			}
		}
		for _, e := range edits[:min(len(edits), maxEdits)] {
			acts = append(acts, Disturbance{Action: Edit, Resource: resource, Object: ref, Path: e.path, Value: e.value})
		}
	}
	if c.losesNodesLocked() {
		acts = append(acts, Disturbance{Action: NodeLost})
	}
	return acts, nil
}

// schemas returns the schemas of the custom resources.
func (c *course) schemas(ctx context.Context) (map[schema.GroupVersionResource]map[string]any, error) {
	client, err := dynamic.NewForConfig(c.cluster.Config())
	if err != nil {
		return nil, err
	}
	list, err := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing CustomResourceDefinitions: %w", err)
	}
	all := map[schema.GroupVersionResource]map[string]any{}
	for _, definition := range list.Items {
		group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
		plural, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "plural")
		versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
		for _, v := range versions {
			version, _ := v.(map[string]any)
			name, _, _ := unstructured.NestedString(version, "name")
			all[schema.GroupVersionResource{Group: group, Version: name, Resource: plural}], _, _ = unstructured.NestedMap(version, "schema", "openAPIV3Schema")
		}
	}
	return all, nil
}

// editsOf returns the changes of an object's fields, below path: to nothing, to the minimum, to the empty value, to the other value.
func editsOf(properties, object map[string]any, path string, depth int) []edit {
	fields, _, _ := unstructured.NestedMap(properties, "properties")
	required, _, _ := unstructured.NestedStringSlice(properties, "required")
	var edits []edit
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		field, _ := fields[name].(map[string]any)
		value, present := object[name]
		if strings.Contains(name, ".") || !present && field["type"] != "boolean" {
			continue
		}
		at := path + "." + name
		if below, ok := value.(map[string]any); ok && depth < maxDepth {
			edits = append(edits, editsOf(field, below, at, depth+1)...)
		}
		if other, ok := otherValue(field, value); ok {
			edits = append(edits, edit{at, other})
		}
		if more, ok := greaterValue(field, value); ok {
			edits = append(edits, edit{at, more})
		}
		if present && !slices.Contains(required, name) && fmt.Sprint(field["default"]) != fmt.Sprint(value) {
			edits = append(edits, edit{at, "null"})
		}
	}
	return edits
}

// greaterValue returns the value of a number that is greater by one, in JSON, if the schema allows it.
func greaterValue(field map[string]any, value any) (string, bool) {
	var n int64
	switch v := value.(type) {
	case int64:
		n = v
	case float64:
		n = int64(v)
	default:
		return "", false
	}
	if limit, limited := field["maximum"]; field["type"] != "integer" || limited && fmt.Sprint(limit) == fmt.Sprint(n) {
		return "", false
	}
	return fmt.Sprint(n + 1), true
}

// otherValue returns, in JSON, the least value that a field can have, if that is another one.
func otherValue(field map[string]any, value any) (string, bool) {
	has := func(limit string) bool { _, ok := field[limit]; return ok }
	var other any
	choices, _ := field["enum"].([]any)
	switch kind := field["type"]; {
	case len(choices) > 0:
		i := slices.IndexFunc(choices, func(c any) bool { return fmt.Sprint(c) != fmt.Sprint(value) })
		if i < 0 {
			return "", false
		}
		other = choices[i]
	case kind == "boolean":
		set, _ := value.(bool)
		other = !set
	case kind == "integer", kind == "number":
		if other = field["minimum"]; other == nil {
			other = 0
		}
	case kind == "string" && !has("minLength") && !has("pattern") && !has("format"):
		other = ""
	case kind == "array" && !has("minItems"):
		other = []any{}
	default:
		return "", false
	}
	text, err := json.Marshal(other)
	if err != nil {
		return "", false
	}
	now, err := json.Marshal(value)
	return string(text), err == nil && string(now) != string(text)
}
