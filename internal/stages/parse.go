package stages

import (
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// The budgets of manifests.
const (
	// MaxManifest caps the bytes of one Stage.
	MaxManifest = 256 << 10
	// maxRules caps the expressions and the steps of one Stage.
	maxRules = 64
	// maxMilliseconds caps a delay, at about 100 years.
	maxMilliseconds = 100 * 366 * 24 * 3600 * 1000
)

// Stage is a Stage that is valid.
type Stage struct {
	// Name is its name; Kind is the kind of the objects that it applies to.
	Name string
	Kind schema.GroupVersionKind

	selects  bool
	selector compiledSelector
	weight   int64
	weightOf *value
	duration *span
	jitter   *span
	steps    []compiledStep
}

// Parse parses and checks one Stage, in YAML or JSON. Unknown fields are an error.
func Parse(document []byte) (*Stage, error) {
	if len(document) > MaxManifest {
		return nil, fmt.Errorf("a Stage has %d bytes, more than %d", len(document), MaxManifest)
	}
	var m manifest
	if err := yaml.UnmarshalStrict(document, &m); err != nil {
		return nil, fmt.Errorf("decoding a Stage: %w", err)
	}
	if m.APIVersion != Group+"/"+Version || m.Kind != Kind {
		return nil, fmt.Errorf("a document is a %q of %q, and must be a %s of %s/%s", m.Kind, m.APIVersion, Kind, Group, Version)
	}
	if m.Name == "" {
		return nil, errors.New("a Stage has no metadata.name")
	}
	stage, err := compile(&m)
	if err != nil {
		return nil, fmt.Errorf("Stage %s: %w", m.Name, err)
	}
	return stage, nil
}

// ParseObject is Parse for an object that the API has decoded.
func ParseObject(object map[string]any) (*Stage, error) {
	encoded, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("encoding a Stage: %w", err)
	}
	return Parse(encoded)
}

func compile(m *manifest) (*Stage, error) {
	s := &Stage{Name: m.Name, weight: m.Spec.Weight, selects: m.Spec.Selector != nil}
	group := m.Spec.ResourceRef.APIGroup
	if group == "" {
		group = "v1"
	}
	gv, err := schema.ParseGroupVersion(group)
	switch {
	case err != nil:
		return nil, fmt.Errorf("spec.resourceRef.apiGroup: %w", err)
	case gv.Version == "":
		return nil, fmt.Errorf("spec.resourceRef.apiGroup %q has no version", group)
	case m.Spec.ResourceRef.Kind == "":
		return nil, errors.New("spec.resourceRef.kind is missing")
	case m.Spec.Weight < 0:
		return nil, fmt.Errorf("spec.weight is %d, and must not be negative", m.Spec.Weight)
	}
	s.Kind = gv.WithKind(m.Spec.ResourceRef.Kind)
	if s.selector, err = m.Spec.Selector.compile(); err != nil {
		return nil, fmt.Errorf("spec.selector.%w", err)
	}
	if s.weightOf, err = m.Spec.WeightFrom.compile(); err != nil {
		return nil, fmt.Errorf("spec.weightFrom: %w", err)
	}
	if d := m.Spec.Delay; d != nil {
		if s.duration, err = newSpan(d.DurationMilliseconds, d.DurationFrom, 0); err != nil {
			return nil, fmt.Errorf("spec.delay.duration: %w", err)
		}
		if d.JitterDurationMilliseconds != nil || d.JitterDurationFrom != nil {
			if s.jitter, err = newSpan(d.JitterDurationMilliseconds, d.JitterDurationFrom, -1); err != nil {
				return nil, fmt.Errorf("spec.delay.jitterDuration: %w", err)
			}
		}
	}
	if s.steps, err = m.Spec.compileSteps(); err != nil {
		return nil, err
	}
	return s, nil
}

// compileSteps returns the steps, or those that next stands for: its event, its finalizers, its
// patches and the deletion.
func (s *spec) compileSteps() ([]compiledStep, error) {
	steps, path := s.Steps, "spec.steps"
	if len(steps) == 0 && s.Next != nil {
		steps, path = s.Next.steps(), "spec.next"
	}
	if len(steps) > maxRules {
		return nil, fmt.Errorf("%s has %d steps, more than %d", path, len(steps), maxRules)
	}
	var all []compiledStep
	for i := range steps {
		compiled, err := steps[i].compile()
		if err != nil {
			return nil, fmt.Errorf("%s, step %d: %w", path, i+1, err)
		}
		all = append(all, compiled)
	}
	return all, nil
}

func (n *next) steps() []step {
	var steps []step
	if n.Event != nil {
		steps = append(steps, step{Event: n.Event})
	}
	if n.Finalizers != nil {
		steps = append(steps, step{Finalizers: n.Finalizers})
	}
	for i := range n.Patches {
		steps = append(steps, step{Patch: &n.Patches[i]})
	}
	if len(n.Patches) == 0 && n.StatusTemplate != "" {
		subresource := "status"
		if n.StatusSubresource != nil {
			subresource = *n.StatusSubresource
		}
		steps = append(steps, step{Patch: &patch{
			Subresource: subresource, Root: "status", Template: n.StatusTemplate, Impersonation: n.StatusPatchAs,
		}})
	}
	if n.Delete {
		steps = append(steps, step{Delete: true})
	}
	return steps
}
