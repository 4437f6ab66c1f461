package scenarios

import (
	"encoding/json"
	"slices"
	"testing"

	"minikcm.dev/minikcm/internal/scenario/spec"
)

// The table and the schema agree: each row is a field of a step, and each field of a step
// is a row or one of the fields that all steps have.
func TestStepKindsAreTheSchemas(t *testing.T) {
	t.Parallel()
	var schema struct {
		Defs map[string]struct {
			Properties map[string]json.RawMessage `json:"properties"`
			OneOf      []struct{ Required []string }
		} `json:"$defs"`
	}
	if err := json.Unmarshal([]byte(Schema()), &schema); err != nil {
		t.Fatal(err)
	}
	step := schema.Defs["Step"]
	var rows, fields, choices []string
	for _, k := range stepKinds() {
		rows = append(rows, k.name)
	}
	for name := range step.Properties {
		if !slices.Contains([]string{"name", "background", "say"}, name) {
			fields = append(fields, name)
		}
	}
	for _, choice := range step.OneOf {
		choices = append(choices, choice.Required...)
	}
	for _, names := range [][]string{rows, fields, choices} {
		slices.Sort(names)
	}
	if !slices.Equal(rows, fields) || !slices.Equal(rows, choices) {
		t.Errorf("the table has %v\nthe schema has the fields %v\nof which one must be set of %v", rows, fields, choices)
	}
}

// A row has all that every kind of step needs, and a name of its own.
func TestStepKindsAreWhole(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, k := range stepKinds() {
		if seen[k.name] {
			t.Errorf("there are two rows called %s", k.name)
		}
		seen[k.name] = true
		if s := stepOf(k.name, k.New()); kindOf(&s).name != k.name {
			t.Errorf("a step of kind %s is of kind %s", k.name, kindOf(&s).name)
		}
		if k.span == "" {
			t.Errorf("%s: the run record cannot sort it", k.name)
		}
		// What a zero value lacks is a problem, and never a panic.
		if nested := k.steps(k.New()); slices.ContainsFunc(nested, func(steps []spec.Step) bool { return len(steps) > 0 }) {
			t.Errorf("%s: a zero value holds steps", k.name)
		}
		_, _, _, _ = k.objects(k.New()), k.typed(k.New()), k.overwrites(k.New()), k.least(k.New())
	}
}

// A row without a title or a function to run cannot be made by mistake.
func TestStepKindsNeedTitleAndRun(t *testing.T) {
	t.Parallel()
	for name, d := range map[string]def[Scale]{"no title": {run: (*branch).scale}, "no run": {title: (*Scale).title}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: there is a row all the same", name)
				}
			}()
			row(name, d)
		}()
	}
}
