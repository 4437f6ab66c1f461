package minikcm

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
)

// Advance lets d of the cluster's time pass. On a virtual clock it returns when all
// that was due by then has been done; on the others it waits.
func (c *Cluster) Advance(ctx context.Context, d time.Duration) error {
	if c.virtual != nil {
		return c.virtual.Advance(ctx, d)
	}
	timer := c.clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Wait returns when done is closed. Virtual time jumps from timer to timer
// meanwhile, whenever nothing is in flight.
func (c *Cluster) Wait(ctx context.Context, done <-chan struct{}) error {
	if c.virtual != nil {
		return c.virtual.Wait(ctx, done)
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// waitReady returns when every node is Ready and the namespace default has its
// service account: from then on pods can be created and will run.
func (c *Cluster) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ready := make(chan struct{})
	var failed error
	var waiting sync.WaitGroup
	waiting.Add(1)
	go func() {
		defer waiting.Done()
		defer close(ready)
		failed = c.untilReady(ctx)
	}()
	defer waiting.Wait()
	waited := make(chan error, 1)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		waited <- c.Wait(ctx, ready)
	}()
	defer func() { cancel(); <-stopped }()
	select {
	case err := <-waited:
		if err != nil {
			return fmt.Errorf("waiting for the cluster to be ready: %w", err)
		}
		return failed
	case <-c.done:
		return c.Err()
	}
}

func (c *Cluster) untilReady(ctx context.Context) error {
	if c.makesAccounts {
		if err := c.untilServiceAccount(ctx); err != nil {
			return fmt.Errorf("waiting for the default service account: %w", err)
		}
	}
	if err := c.untilNodes(ctx); err != nil {
		return fmt.Errorf("waiting for the nodes to be Ready: %w", err)
	}
	return nil
}

// initialEvents asks a watch for what is there, and then for what changes.
func initialEvents() metav1.ListOptions {
	return metav1.ListOptions{
		SendInitialEvents: ptr.To(true), ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, AllowWatchBookmarks: true,
	}
}

// until reads a watch until found says that its object was the last one needed.
func until(ctx context.Context, watcher watch.Interface, found func(watch.Event) bool) error {
	defer watcher.Stop()
	for {
		select {
		case ev, ok := <-watcher.ResultChan():
			if !ok {
				return errors.New("the watch ended")
			}
			if found(ev) {
				return nil
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (c *Cluster) untilServiceAccount(ctx context.Context) error {
	opts := initialEvents()
	opts.FieldSelector = fields.OneTermEqualSelector("metadata.name", "default").String()
	watcher, err := c.client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Watch(ctx, opts)
	if err != nil {
		return err
	}
	return until(ctx, watcher, func(ev watch.Event) bool { return ev.Type == watch.Added })
}

func (c *Cluster) untilNodes(ctx context.Context) error {
	wanted := c.opts.Nodes
	for _, pool := range c.opts.Pools {
		wanted += pool.Count
	}
	if wanted == 0 {
		return nil
	}
	watcher, err := c.client.CoreV1().Nodes().Watch(ctx, initialEvents())
	if err != nil {
		return err
	}
	ready := map[string]bool{}
	return until(ctx, watcher, func(ev watch.Event) bool {
		if node, isNode := ev.Object.(*corev1.Node); isNode && isReady(node) {
			ready[node.Name] = true
		}
		return len(ready) >= wanted
	})
}

func isReady(node *corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}
