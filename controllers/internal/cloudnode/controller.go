package cloudnode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/controllers/internal/cloud"
	"minikcm.dev/minikcm/controllers/internal/cloudnode/decide"
	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/controllers/internal/env"
	"minikcm.dev/minikcm/internal/loop"
)

const (
	// Name is upstream's name of the controller.
	Name = "cloud-node-controller"
	// updatePeriod is the time between two passes over the addresses, upstream's default.
	updatePeriod = 5 * time.Minute
	// conflictDelay is the delay before another attempt to initialize a Node that has changed meanwhile.
	conflictDelay = 50 * time.Millisecond
)

// Descriptor describes the controller.
func Descriptor() controller.Descriptor {
	return controller.Descriptor{
		Name: Name, Aliases: []string{"cloud-node"}, Account: "node-controller",
		About:   "gives new nodes the provider ID, labels and addresses of their instances in the simulated cloud (one of cloud-controller-manager's)",
		Watches: []string{"nodes", "configmaps"}, Writes: []string{"nodes", "nodes/status"},
		Docs:  "concepts/architecture/cloud-controller/#node-controller",
		Flags: cloud.Flags, Idle: cloud.Idle,
		Build: build,
	}
}

// Controller initializes Nodes. Its keys are their names.
type Controller struct {
	clock  clock.Clock
	logger klog.Logger
	client kubernetes.Interface
	cloud  *cloud.Cloud
	passes *cloud.Passes
	events record.EventRecorder
	// untainted and synced are the times from a Node's creation to its initialization.
	untainted, synced prometheus.Histogram
}

func build(p *controller.Parts) error {
	of, err := cloud.New(p.Env)
	if err != nil {
		return err
	}
	c := &Controller{
		clock: p.Clock, logger: p.Logger, client: p.Client, cloud: of,
		passes: cloud.NewPasses(p.Clock.Now(), updatePeriod), events: p.Recorder.For(p.Name),
		untainted: env.Register(p.Env, delays("node_controller_cloud_provider_taint_removal_delay_seconds", "Seconds from the creation of a Node to the removal of its taint for the cloud provider.")),
		synced:    env.Register(p.Env, delays("node_controller_initial_node_sync_delay_seconds", "Seconds from the creation of a Node to the end of its initialization.")),
	}
	l := p.Loop(controller.Each(p.Informers.Nodes().Informer(), c.reconcile))
	l.Watch(p.Informers.Nodes().Informer(), c.wakeForNode)
	l.Watch(of.Informer, c.wakeForInstance)
	return nil
}

// delays returns a histogram with upstream's buckets, from a second to 17 minutes.
func delays(name, help string) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: prometheus.ExponentialBuckets(1, 4, 6)})
}

// wakeForNode enqueues Nodes that are new, have got or lost the taint, or have other labels,
// provider IDs or addresses.
func (c *Controller) wakeForNode(ev loop.Event) []types.NamespacedName {
	node, ok := ev.Object.(*corev1.Node)
	if !ok || ev.Type == loop.Deleted {
		return nil
	}
	if before, ok := ev.Old.(*corev1.Node); ok && before.UID == node.UID && decide.IsUninitialized(before) == decide.IsUninitialized(node) &&
		maps.Equal(before.Labels, node.Labels) && before.Spec.ProviderID == node.Spec.ProviderID && slices.Equal(before.Status.Addresses, node.Status.Addresses) {
		return nil
	}
	return loop.Self(ev)
}

// wakeForInstance enqueues the Node of an instance.
func (c *Controller) wakeForInstance(ev loop.Event) []types.NamespacedName {
	i, ok := cloud.InstanceOf(ev)
	if !ok || ev.Type == loop.Deleted {
		return nil
	}
	return []types.NamespacedName{{Name: i.Name}}
}

// reconcile initializes a Node, or repairs the labels and addresses of one that is.
func (c *Controller) reconcile(ctx context.Context, node *corev1.Node) (loop.Result, error) {
	key := loop.KeyOf(node)
	if decide.IsUninitialized(node) {
		err := c.initialize(ctx, node)
		if apierrors.IsConflict(err) {
			return loop.Result{RequeueAfter: conflictDelay}, nil
		}
		return loop.Result{}, err
	}
	if labels := decide.Labels(node); labels != nil {
		if err := c.patch(ctx, node, map[string]any{"metadata": map[string]any{"labels": labels}}); err != nil {
			return loop.Result{}, fmt.Errorf("writing the labels of node %s: %w", node.Name, err)
		}
	}
	return c.refresh(ctx, key, node)
}

// initialize writes the properties of a Node's instance to the Node.
func (c *Controller) initialize(ctx context.Context, node *corev1.Node) error {
	i, err := c.cloud.Instance(ctx, node)
	if err != nil {
		return fmt.Errorf("failed to get instance metadata for node %s: %w", node.Name, err)
	}
	addresses, err := decide.Addresses(node, &i)
	if err != nil {
		return fmt.Errorf("provided node ip for node %q is not valid: %w", node.Name, err)
	}
	written, err := c.client.CoreV1().Nodes().Update(ctx, decide.Initialized(node, &i), metav1.UpdateOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("initializing node %s: %w", node.Name, err)
	}
	c.untainted.Observe(c.clock.Since(node.CreationTimestamp.Time).Seconds())
	if err := c.setAddresses(ctx, written, addresses); err != nil {
		return err
	}
	c.events.Event(node, corev1.EventTypeNormal, "Synced", "Node synced successfully")
	c.synced.Observe(c.clock.Since(node.CreationTimestamp.Time).Seconds())
	return nil
}

// refresh writes the addresses of an initialized Node at the next pass, if they differ.
func (c *Controller) refresh(ctx context.Context, key types.NamespacedName, node *corev1.Node) (loop.Result, error) {
	i, err := c.cloud.Instance(ctx, node)
	if errors.Is(err, cloud.ErrNotFound) || errors.Is(err, cloud.ErrForeign) {
		return loop.Result{}, nil
	}
	if err != nil {
		return loop.Result{}, err
	}
	addresses, err := decide.Addresses(node, &i)
	if err != nil {
		c.logger.Error(err, "Failed to update node addresses", "node", node.Name)
	}
	if err != nil || decide.SameAddresses(node, addresses) {
		return loop.Result{}, nil
	}
	now := c.clock.Now()
	c.passes.Wake(key, now)
	if due, wait := c.passes.Take(key, now); !due {
		return loop.Result{RequeueAfter: wait, Postponed: true}, nil
	}
	return loop.Result{}, c.setAddresses(ctx, node, addresses)
}

// setAddresses writes the addresses of a Node.
func (c *Controller) setAddresses(ctx context.Context, node *corev1.Node, addresses []corev1.NodeAddress) error {
	if decide.SameAddresses(node, addresses) {
		return nil
	}
	err := c.patch(ctx, node, map[string]any{"metadata": map[string]any{"uid": node.UID}, "status": map[string]any{"addresses": addresses}}, "status")
	if err != nil {
		return fmt.Errorf("writing the addresses of node %s: %w", node.Name, err)
	}
	return nil
}

// patch writes a merge patch. A Node that is gone is no error.
func (c *Controller) patch(ctx context.Context, node *corev1.Node, patch map[string]any, subresources ...string) error {
	data, err := json.Marshal(patch)
	if err != nil {
		return fmt.Errorf("encoding the patch: %w", err)
	}
	if _, err = c.client.CoreV1().Nodes().Patch(ctx, node.Name, types.MergePatchType, data, metav1.PatchOptions{}, subresources...); apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
