package scenarios

import (
	"context"
	"fmt"

	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/scenarios/chaosmesh"
	"minikcm.dev/minikcm/scenarios/format"
)

// hasChaos says whether a scenario makes objects of Chaos Mesh.
func hasChaos(s *Scenario) bool {
	is := func(step *format.Step) bool {
		for _, o := range objectsOf(step) {
			if o.GroupVersionKind().Group == chaosmesh.Group {
				return true
			}
		}
		return false
	}
	return anyStep(s.Spec.Steps, is) || anyStep(s.Spec.Finally, is)
}

// runChaos lets the world's cluster do what Chaos Mesh's objects ask for, until the
// world is closed. It installs the kinds while nothing drives the clock, so that the
// scenario begins at the time at which the cluster was ready.
func (w *world) runChaos(ctx context.Context, logger klog.Logger) error {
	if err := chaosmesh.Install(ctx, w.cluster.Config()); err != nil {
		return fmt.Errorf("making Chaos Mesh's kinds known: %w", err)
	}
	controller, err := chaosmesh.New(w.cluster, logger)
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- controller.Run(running) }()
	w.closers = append([]func() error{func() error {
		stop()
		return <-ended
	}}, w.closers...)
	return nil
}
