package garbagecollector

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/controllers/internal/garbagecollector/graph"
	"minikcm.dev/minikcm/internal/loop"
)

// absent records in the graph that a look-up found no such object.
func (c *Controller) absent(at graph.Coordinates) {
	c.keeper.submit(func(g *graph.Graph) { c.follow(g.Absent(at)) })
}

// lookUpOwners looks up each owner of unknown state in the API.
func (c *Controller) lookUpOwners(ctx context.Context, v *graph.View) error {
	for i, ref := range v.Owners {
		if v.States[i] != graph.OwnerUnknown {
			continue
		}
		at := graph.OwnerAt(ref, v.Namespace)
		if c.api.clusterScoped(at) {
			at.Namespace = ""
		}
		owner, err := c.api.get(ctx, at)
		switch {
		case errors.Is(err, errNoNamespace):
			v.States[i] = graph.OwnerInvalid
		case err != nil:
			return fmt.Errorf("looking up the owners of %s: %w", v.Coordinates, err)
		case owner == nil:
			v.States[i] = graph.OwnerAbsent
			c.absent(at)
		default:
			v.States[i] = graph.StateOf(owner)
		}
	}
	return nil
}

// lookUp checks whether an object exists that is known only from references.
func (c *Controller) lookUp(ctx context.Context, v graph.View) (loop.Result, error) {
	at := v.Coordinates
	if c.api.clusterScoped(at) {
		at.Namespace = ""
		uid := at.UID
		if err := c.keeper.ask(ctx, func(g *graph.Graph) { g.LookedUp(uid, true) }); err != nil {
			return loop.Result{}, err
		}
	}
	object, err := c.api.get(ctx, at)
	switch {
	case errors.Is(err, errNoNamespace):
		return loop.Result{}, nil // a retry cannot succeed
	case err != nil:
		return loop.Result{}, err
	case object == nil:
		c.absent(at)
		return loop.Result{}, nil
	}
	return loop.Result{RequeueAfter: recheck}, nil
}

// remove deletes the object if it still has the version that was judged.
func (c *Controller) remove(ctx context.Context, v graph.View, action graph.Action) error {
	err := c.api.deleteVersion(ctx, v.Coordinates, v.ResourceVersion, action.Policy)
	switch {
	case err == nil:
		return nil
	case apierrors.IsNotFound(err):
		c.absent(v.Coordinates)
		return nil
	case !apierrors.IsConflict(err):
		return fmt.Errorf("deleting %s: %w", v.Coordinates, err)
	}
	// The object has another version, or another object has its name.
	object, getErr := c.api.get(ctx, v.Coordinates)
	if getErr == nil && object == nil {
		c.absent(v.Coordinates)
		return nil
	}
	return fmt.Errorf("deleting %s: %w", v.Coordinates, errors.Join(err, getErr))
}

// orphan removes the references to the owner from its dependents, and then the owner's
// orphan finalizer.
func (c *Controller) orphan(ctx context.Context, owner graph.Coordinates) error {
	var dependents []graph.Coordinates
	if err := c.keeper.ask(ctx, func(g *graph.Graph) { dependents = g.Dependents(owner.UID) }); err != nil {
		return err
	}
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(clock.AtOnce(ctx, workers))
	for _, dependent := range dependents {
		group.Go(func() error { return c.api.dropOwners(groupCtx, dependent, owner.UID) })
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("orphaning the dependents of %s: %w", owner, err)
	}
	return c.api.removeFinalizer(ctx, owner, metav1.FinalizerOrphanDependents)
}
