package format

import (
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// chaosGroup is the API group of the manifests that may stand beside scenarios.
const chaosGroup = "chaos-mesh.org/"

func isChaos(document *yaml.Node) bool {
	version := child(document, "apiVersion")
	return version != nil && strings.HasPrefix(version.Value, chaosGroup)
}

// beside reads a manifest that stands beside scenarios, as it is.
func (d *decoder) beside(document *yaml.Node) Step {
	var o Object
	plainly(d, document, reflect.ValueOf(&o).Elem())
	if o.Object != nil {
		d.check(document.Line, "", o.whole(false))
	}
	return Step{Apply: &Apply{Objects: []Object{o}}, Line: document.Line, File: d.file}
}

// applyBeside has a scenario apply the manifests that stand beside it when it has set up
// what they are for: before the first step that does not apply, create or wait, or
// that waits for one of them.
func (d *decoder) applyBeside(s *Scenario, manifests []Step) {
	if len(manifests) == 0 {
		return
	}
	steps := s.Spec.Steps
	n := 0
	for n < len(steps) && setsUp(&steps[n]) {
		n++
	}
	if n == len(steps) {
		d.problem(manifests[0].Line, "", "is applied after the steps of %s that apply, create and wait, and there is none after them: say what to expect, or sleep", s.Metadata.Name)
		return
	}
	all := append(steps[:n:n], manifests...)
	s.Spec.Steps = append(all, steps[n:]...)
}

func setsUp(s *Step) bool {
	if s.Wait != nil {
		kind, _, _ := strings.Cut(strings.ToLower(s.Wait.Target), "/")
		kind, _, _ = strings.Cut(kind, ".")
		return !s.Background && !slices.Contains([]string{"podchaos", "schedule", "schedules", "workflow", "workflows"}, kind)
	}
	return !s.Background && (s.Apply != nil || s.Create != nil)
}
