package garbagecollector

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/controllers/internal/garbagecollector/graph"
	"minikcm.dev/minikcm/internal/loop"
)

var discoveryKey = types.NamespacedName{Name: "discovery"}

// definitionKind is the kind whose objects add and remove kinds.
var definitionKind = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}

// definitionDelay is the delay before discovery is read again after a definition has
// changed, because the API serves a new kind only some time after that.
const definitionDelay = time.Second

// rediscover reads discovery now and again after definitionDelay.
func (c *Controller) rediscover(cause int64) {
	c.kinds.Add(discoveryKey, cause)
	c.kinds.AddAfter(discoveryKey, definitionDelay)
}

// discover starts and stops informers so that they match the kinds that the API serves now.
func (c *Controller) discover(ctx context.Context, _ types.NamespacedName) (loop.Result, error) {
	if same, err := c.tags.same(ctx); err != nil || same {
		return loop.Result{RequeueAfter: discoveryPeriod}, err
	}
	result, complete, err := c.readDiscovery(ctx)
	if err != nil || !complete {
		c.tags.forget()
	}
	return result, err
}

// readDiscovery reads discovery and updates the informers. complete is false if some groups
// could not be read.
func (c *Controller) readDiscovery(ctx context.Context) (result loop.Result, complete bool, err error) {
	groups, failed, err := c.resources()
	if err != nil {
		return loop.Result{}, false, err
	}
	kinds := Kinds(groups, c.ignored...)
	if len(kinds) == 0 {
		return loop.Result{}, false, errors.New("discovering the API's resources: none can be listed, watched and deleted")
	}
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	c.api.mapper.Store(&mapper)
	// The informers outlive this reconcile: stopAll ends them.
	removed, err := c.monitors.sync(klog.NewContext(context.Background(), c.logger), kinds, failed)
	for _, monitor := range removed {
		c.forget(monitor)
	}
	if err != nil {
		return loop.Result{}, false, err
	}
	c.startOnce.Do(func() { c.start(ctx) })
	return loop.Result{RequeueAfter: discoveryPeriod}, len(failed) == 0, nil
}

// resources returns the resources that the API serves, and the groups that could not be
// read, for example because an extension server is down.
func (c *Controller) resources() ([]*restmapper.APIGroupResources, map[string]bool, error) {
	groups, lists, err := c.discovery.ServerGroupsAndResources()
	failed := map[string]bool{}
	var partial *discovery.ErrGroupDiscoveryFailed
	switch {
	case errors.As(err, &partial):
		for gv := range partial.Groups {
			failed[gv.Group] = true
		}
	case err != nil:
		return nil, nil, fmt.Errorf("discovering the API's resources: %w", err)
	}
	return groupResources(groups, lists), failed, nil
}

// start closes started when all informers have delivered their initial lists, or after
// syncTimeout.
func (c *Controller) start(ctx context.Context) {
	waitCtx, cancel := context.WithCancel(ctx)
	timer := c.clock.AfterFunc(syncTimeout, cancel)
	c.waiting.Go(func() {
		defer cancel()
		defer timer.Stop()
		defer close(c.started)
		cache.WaitFor(klog.NewContext(waitCtx, c.logger.V(4)), Name, c.monitors.synced()...)
	})
}

// forget removes the objects of a kind that is no longer watched from the graph. They may
// still exist, if only discovery has failed.
func (c *Controller) forget(m *monitor) {
	for _, obj := range m.informer.GetStore().List() {
		object, ok := obj.(interface{ GetUID() types.UID })
		if !ok {
			continue
		}
		uid := object.GetUID()
		c.keeper.submit(func(g *graph.Graph) { c.follow(g.Unwatched(uid)) })
	}
}
