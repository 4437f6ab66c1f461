package scenarios

import (
	"slices"
	"strings"

	"k8s.io/klog/v2"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/scenario/chaosmesh"
	"minikcm.dev/minikcm/internal/scenario/check"
	"minikcm.dev/minikcm/internal/scenario/spec"
)

// startChaosMesh runs the objects of Chaos Mesh in a cluster until stop is called.
func startChaosMesh(cluster *minikcm.Cluster, logger klog.Logger) (stop func() error, err error) {
	controller, err := chaosmesh.New(cluster, logger)
	if err != nil {
		return nil, err
	}
	end, err := controller.Start()
	if err != nil {
		return nil, err
	}
	return func() error { end(); return nil }, nil
}

// isChaos reports whether an API version belongs to Chaos Mesh.
func isChaos(apiVersion string) bool { return strings.HasPrefix(apiVersion, chaosmesh.Group+"/") }

// applyBeside makes a scenario apply the manifests in its file after its setup: before the first
// step that does not apply, create or wait, or that waits for one of them.
func applyBeside(c *spec.Checker, s *Scenario, manifests []spec.Object) {
	steps := s.Spec.Steps
	n := 0
	for n < len(steps) && setsUp(&steps[n]) {
		n++
	}
	if n == len(steps) {
		c.Problem("", "is applied after the steps of %s that apply, create and wait, and there is none after them: say what to expect, or sleep", s.Metadata.Name)
		return
	}
	all := slices.Clone(steps[:n])
	for _, o := range manifests {
		step := stepOf("apply", &Apply{Objects: []spec.Object{o}})
		step.Line, step.File = o.Line, o.File
		all = append(all, step)
	}
	s.Spec.Steps = append(all, steps[n:]...)
}

func setsUp(s *spec.Step) bool {
	switch value := s.Value.(type) {
	case *check.Wait:
		kind, _, _ := strings.Cut(strings.ToLower(value.Target), "/")
		kind, _, _ = strings.Cut(kind, ".")
		return !s.Background && !slices.Contains([]string{"podchaos", "schedule", "schedules", "workflow", "workflows"}, kind)
	case *Apply:
		return !s.Background
	}
	return false
}
