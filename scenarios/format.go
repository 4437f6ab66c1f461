package scenarios

import (
	"fmt"
	"time"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The identity of a scenario's document.
const (
	APIVersion = "minikcm.dev/v1alpha1"
	Kind       = "Scenario"
)

// Scenario is one document of a scenario file.
type Scenario struct {
	APIVersion string   `yaml:"apiVersion"`
	Kind       string   `yaml:"kind"`
	Metadata   Metadata `yaml:"metadata"`
	Spec       Spec     `yaml:"spec"`

	// File is where the scenario was read from, for messages and relative paths.
	File string `yaml:"-"`
}

// Metadata names a scenario.
type Metadata struct {
	Name string `yaml:"name"`
}

// Spec is what a scenario does.
type Spec struct {
	// Description is one sentence that says what is shown.
	Description string  `yaml:"description"`
	Cluster     Cluster `yaml:"cluster"`
	// Timeout bounds the whole run, in the cluster's time; default 10m.
	Timeout Duration `yaml:"timeout"`
	Steps   []Step   `yaml:"steps"`
}

// Cluster is what the scenario runs on.
type Cluster struct {
	// Nodes is how many nodes there are; default 3.
	Nodes *int `yaml:"nodes"`
	// Clock is virtual (the default), real, or scaled=N.
	Clock string `yaml:"clock"`
	// Seed determines all choices; default 1.
	Seed uint64 `yaml:"seed"`
	// Controllers selects controllers as --controllers does.
	Controllers []string `yaml:"controllers"`
}

// Step is one thing to do: exactly one of its fields beside Name is set.
type Step struct {
	// Name is shown in place of what the step says of itself.
	Name   string  `yaml:"name"`
	Apply  *Apply  `yaml:"apply"`
	Wait   *Wait   `yaml:"wait"`
	Kill   *Kill   `yaml:"kill"`
	Expect *Expect `yaml:"expect"`

	line int
}

// Apply creates objects, or changes those that exist, by server-side apply.
type Apply struct {
	Objects []Object `yaml:"objects"`
	// Files are YAML or JSON files, relative to the scenario's.
	Files []string `yaml:"files"`

	fromFiles []Object
}

// Wait waits for objects, as kubectl wait does.
type Wait struct {
	// Target is KIND/NAME or, with Selector, KIND.
	Target    string `yaml:"target"`
	Selector  string `yaml:"selector"`
	Namespace string `yaml:"namespace"`
	// For is condition=NAME[=STATUS], jsonpath=EXPRESSION[=VALUE], create or delete.
	For string `yaml:"for"`
	// Within is how much of the cluster's time may pass; default 1m.
	Within Duration `yaml:"within"`

	parsed waitFor
}

// Kill breaks something: Pods or Node.
type Kill struct {
	Pods *KillPods `yaml:"pods"`
	// Node is a node whose machine stops: its kubelet says nothing any more.
	Node string `yaml:"node"`
}

// KillPods deletes pods without grace.
type KillPods struct {
	Selector  string `yaml:"selector"`
	Namespace string `yaml:"namespace"`
	// Count is how many of those that match, chosen by the seed; default 1.
	Count int `yaml:"count"`
}

// Expect says what must hold: now or, with Within, at some time until then.
type Expect struct {
	Within Duration `yaml:"within"`
	// Objects must exist, with at least the fields given. An object without a name
	// must be matched by some object of its kind and namespace.
	Objects []Object `yaml:"objects"`
	// Absent must not exist (or, without a name, none that matches).
	Absent []Object `yaml:"absent"`
	Counts []Count  `yaml:"counts"`
}

// Count is how many objects there must be of a kind.
type Count struct {
	Target        string `yaml:"target"`
	Namespace     string `yaml:"namespace"`
	Selector      string `yaml:"selector"`
	FieldSelector string `yaml:"fieldSelector"`
	// Where counts only objects that have at least these fields.
	Where  map[string]any `yaml:"where"`
	Equals *int           `yaml:"equals"`
	Min    *int           `yaml:"min"`
	Max    *int           `yaml:"max"`
}

// Object is a Kubernetes object, or a part of one.
type Object struct {
	unstructured.Unstructured
	line int
}

// UnmarshalYAML keeps the line for messages.
func (o *Object) UnmarshalYAML(node *yaml.Node) error {
	o.line = node.Line
	var fields map[string]any
	if err := node.Decode(&fields); err != nil {
		return err
	}
	normal, ok := jsonValue(fields).(map[string]any)
	if !ok {
		return fmt.Errorf("line %d: an object must be a mapping", node.Line)
	}
	o.Object = normal
	return nil
}

// jsonValue turns what YAML decodes to into what JSON would decode to.
func jsonValue(v any) any {
	switch v := v.(type) {
	case map[any]any: // some key is a number, a truth value or the like
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[fmt.Sprint(key)] = jsonValue(value)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[key] = jsonValue(value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, value := range v {
			out[i] = jsonValue(value)
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

// UnmarshalYAML reads a Go duration.
func (d *Duration) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind != yaml.ScalarNode {
		return fmt.Errorf("line %d: this must be a duration; write it like 500ms, 30s or 5m", node.Line)
	}
	value, err := time.ParseDuration(node.Value)
	if err != nil {
		return fmt.Errorf("line %d: %q is not a duration; write it like 500ms, 30s or 5m", node.Line, node.Value)
	}
	if value < 0 {
		return fmt.Errorf("line %d: a duration must not be negative: %s", node.Line, node.Value)
	}
	*d = Duration(value)
	return nil
}

// UnmarshalYAML keeps the step's line for messages.
func (s *Step) UnmarshalYAML(node *yaml.Node) error {
	type plain Step
	if err := decodeKnown(node, (*plain)(s)); err != nil {
		return err
	}
	s.line = node.Line
	return nil
}
