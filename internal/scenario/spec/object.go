package spec

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Object is a Kubernetes object, or a part of one.
type Object struct {
	unstructured.Unstructured
	// File and Line are where it is written.
	File string
	Line int
	node *yaml.Node
}

func (o *Object) readNode(d *decoder, node *yaml.Node, field string) {
	o.File, o.Line, o.node = d.file, node.Line, node
	if node.Kind != yaml.MappingNode {
		d.wrong(node, field, "a mapping: a Kubernetes object")
		return
	}
	var fields map[string]any
	if err := d.replaceAll(node, field).Decode(&fields); err != nil {
		d.decodingError(node, field, err)
		return
	}
	o.Object, _ = JSONValue(fields).(map[string]any)
}

// LineAt returns the line of a field, such as spec.containers[0].image, or of the nearest
// field around it that is written.
func (o *Object) LineAt(path string) int {
	node, line := o.node, o.Line
	for part := range strings.FieldsFuncSeq(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		if node, line = inside(node, part, line); node == nil {
			break
		}
	}
	return line
}

// inside returns a mapping's or a sequence's part with its line; nil and line if there is
// none.
func inside(node *yaml.Node, part string, line int) (*yaml.Node, int) {
	if node != nil && node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	switch {
	case node == nil:
	case node.Kind == yaml.SequenceNode:
		if i, err := strconv.Atoi(part); err == nil && i >= 0 && i < len(node.Content) {
			return node.Content[i], node.Content[i].Line
		}
	case node.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			if key := node.Content[i]; key.Value == part {
				return node.Content[i+1], key.Line
			}
		}
	}
	return nil, line
}

// Title is the object's name for people: deployment/web, or any Pod.
func (o *Object) Title() string {
	switch {
	case o.GetName() == "" && o.GetGenerateName() != "":
		return strings.ToLower(o.GetKind()) + "/" + o.GetGenerateName() + "*"
	case o.GetName() == "":
		return "any " + o.GetKind()
	}
	return strings.ToLower(o.GetKind()) + "/" + o.GetName()
}

// Whole returns what an object lacks to be applied or, if created is true, to be created.
func (o *Object) Whole(created bool) error {
	switch {
	case o.GetAPIVersion() == APIVersion:
		return fmt.Errorf("a %s is no object of the cluster: keep it apart from the manifests, or name their files one by one", o.GetKind())
	case o.GetKind() == "Kustomization" && strings.HasPrefix(o.GetAPIVersion(), "kustomize.config.k8s.io/"):
		return fmt.Errorf("a Kustomization is no object of the cluster: name its folder in kustomize")
	case o.GetAPIVersion() == "":
		return fmt.Errorf("an object needs apiVersion, such as v1 or apps/v1")
	case o.GetKind() == "":
		return fmt.Errorf("an object needs kind")
	case o.GetName() == "" && o.GetGenerateName() != "" && created:
		return nil
	case o.GetName() == "" && o.GetGenerateName() != "":
		return fmt.Errorf("%s needs metadata.name: only what is created may have a generateName", o.GetKind())
	case o.GetName() == "":
		return fmt.Errorf("%s needs metadata.name", o.GetKind())
	}
	return nil
}

// JSONValue converts a value that was decoded from YAML to the types that JSON decoding yields.
func JSONValue(v any) any {
	switch v := v.(type) {
	case map[any]any: // some key is a number, a truth value or the like
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[fmt.Sprint(key)] = JSONValue(value)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[key] = JSONValue(value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, value := range v {
			out[i] = JSONValue(value)
		}
		return out
	case int:
		return int64(v)
	case uint64: // larger than an int64
		return float64(v)
	case time.Time:
		return v.UTC().Format(time.RFC3339)
	}
	return v
}

// Duration is a span of time such as 30s or 5m.
type Duration time.Duration

func (d *Duration) readNode(dec *decoder, node *yaml.Node, field string) {
	const wanted = "a duration such as 500ms, 30s or 5m"
	if node.Kind != yaml.ScalarNode {
		dec.wrong(node, field, wanted)
		return
	}
	value, err := time.ParseDuration(node.Value)
	if err != nil {
		dec.problem(node.Line, field, "found %q, wanted %s", node.Value, wanted)
		return
	}
	if value < 0 {
		dec.problem(node.Line, field, "a duration must not be negative: %s", node.Value)
		return
	}
	*d = Duration(value)
}

// Body are steps that may be done several times, with other variables each time.
type Body struct {
	node    *yaml.Node
	decoder *decoder
	field   string
	// Steps are the steps with the variables' first values, or stand-ins for them.
	Steps []Step
}

func (b *Body) readNode(d *decoder, node *yaml.Node, field string) {
	b.node, b.decoder, b.field = node, d, field
}

// With reads the steps again, with these variables.
func (b *Body) With(vars map[string]string) ([]Step, error) {
	var problems Problems
	d := b.decoder.with(vars)
	d.problems, d.lines = &problems, nil
	steps := d.steps(b.node, b.field)
	return steps, problems.err()
}
