package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/scenario/chaosmesh"
	"minikcm.dev/minikcm/internal/scenario/spec"
	"minikcm.dev/minikcm/scenarios/internal/evolution"
)

// companion is a controller that runs beside the cluster of a scenario which makes objects
// of its API group.
type companion struct {
	name, group string
	// install makes the group's kinds known, and returns when they are served.
	install func(ctx context.Context, config *rest.Config) error
	// start begins to run the group's objects. stop returns when all has ended.
	start func(cluster *minikcm.Cluster, logger klog.Logger) (stop func() error, err error)
	// check returns why an object cannot be run; objects of other groups can.
	check func(object *unstructured.Unstructured) error
	// elsewhere returns why an object cannot be made on a cluster that is not the
	// scenario's own, where this controller does not run; nil: all can.
	elsewhere func(object *unstructured.Unstructured) error
}

func companions() []companion {
	return []companion{
		{name: "Chaos Mesh", group: chaosmesh.Group, install: chaosmesh.Install, start: startChaosMesh, check: chaosmesh.Check},
		{name: "evolution", group: evolution.Group, install: evolution.Install, start: evolution.Start, check: evolution.Check, elsewhere: refuseReconcilers},
	}
}

func refuseReconcilers(object *unstructured.Unstructured) error {
	if evolution.IsReconciler(object) {
		return errors.New("reconcilers run only beside a cluster of the scenario's own")
	}
	return nil
}

// objectsOf returns the objects that a scenario's steps make.
func objectsOf(s *Scenario) []spec.Object {
	return collect(s, func(k *kind, value any) []spec.Object { return k.objects(value) })
}

// startCompanions starts the controllers that a scenario needs, until the world is closed.
// It installs their kinds while nothing drives the clock, so that the scenario begins at
// the time at which the cluster was ready.
func (w *world) startCompanions(ctx context.Context, s *Scenario, logger klog.Logger) error {
	objects := objectsOf(s)
	for _, c := range companions() {
		if !slices.ContainsFunc(objects, func(o spec.Object) bool { return o.GroupVersionKind().Group == c.group }) {
			continue
		}
		if err := c.install(ctx, w.cluster.Config()); err != nil {
			return fmt.Errorf("making the kinds of %s known: %w", c.name, err)
		}
		stop, err := c.start(w.cluster, logger)
		if err != nil {
			return err
		}
		w.closers = append([]func() error{stop}, w.closers...)
	}
	return nil
}

// companionProblem returns why an object cannot be run where the scenario is to run.
func companionProblem(object *unstructured.Unstructured, place Place) error {
	for _, c := range companions() {
		var err error
		switch {
		case place == OwnCluster:
			err = c.check(object)
		case c.elsewhere != nil:
			err = c.elsewhere(object)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
