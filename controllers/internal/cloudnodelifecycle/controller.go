package cloudnodelifecycle

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/utils/clock"

	"minikcm.dev/minikcm/controllers/internal/cloud"
	"minikcm.dev/minikcm/controllers/internal/cloudnodelifecycle/decide"
	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/controllers/internal/env"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is upstream's name of the controller.
const Name = "cloud-node-lifecycle-controller"

// DefaultMonitorPeriod is the time between two passes by default.
const DefaultMonitorPeriod = 5 * time.Second

// nodes is the controller's access to Nodes. Delete fails with a conflict if the Node has changed,
// and so does SetTaints.
type nodes interface {
	Delete(ctx context.Context, node *corev1.Node) error
	SetTaints(ctx context.Context, node *corev1.Node, taints []corev1.Taint) error
}

// Descriptor describes the controller.
func Descriptor() controller.Descriptor {
	return controller.Descriptor{
		Name: Name, Aliases: []string{"cloud-node-lifecycle"}, Account: "node-controller",
		About:   "deletes nodes whose instances are gone in the simulated cloud, and taints those whose instances are shut down",
		Watches: []string{"nodes", "configmaps"}, Writes: []string{"nodes"},
		Docs:  "concepts/architecture/cloud-controller/#node-controller",
		Idle:  cloud.Idle,
		Build: build,
	}
}

// Controller deletes and taints Nodes by the state of their instances. Its keys are their names.
type Controller struct {
	clock  clock.PassiveClock
	nodes  corelisters.NodeLister
	write  nodes
	cloud  *cloud.Cloud
	passes *cloud.Passes
	event  func(node *corev1.Node, kind, reason, message string)
	calls  *prometheus.CounterVec
}

func build(p *controller.Parts) error {
	of, err := cloud.New(p.Env)
	if err != nil {
		return err
	}
	recorder := p.Recorder.For(p.Name)
	c := newController(p.Clock, p.Informers.Nodes().Lister(), clientNodes{p.Client.CoreV1().Nodes()}, of, cmp.Or(p.Settings.NodeLifecycleController.NodeMonitorPeriod.Duration, DefaultMonitorPeriod))
	c.calls = env.Register(p.Env, newCalls())
	c.event = func(node *corev1.Node, kind, reason, message string) {
		recorder.Event(&corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}, kind, reason, message)
	}
	l := p.Loop(c)
	l.Watch(p.Informers.Nodes().Informer(), c.wakeForNode)
	l.Watch(of.Informer, c.wakeForInstance)
	return nil
}

func newController(now clock.PassiveClock, lister corelisters.NodeLister, write nodes, of *cloud.Cloud, period time.Duration) *Controller {
	return &Controller{
		clock: now, nodes: lister, write: write, cloud: of, passes: cloud.NewPasses(now.Now(), period),
		event: func(*corev1.Node, string, string, string) {}, calls: newCalls(),
	}
}

func newCalls() *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "cloud_node_lifecycle_controller_cloud_provider_calls_total",
		Help: "Requests to the cloud, by operation and result.",
	}, []string{"operation", "result"})
}

// wakeForNode enqueues a Node that needs something.
func (c *Controller) wakeForNode(ev loop.Event) []types.NamespacedName {
	node, ok := ev.Object.(*corev1.Node)
	if !ok || ev.Type == loop.Deleted || decide.First(node) == decide.Nothing {
		return nil
	}
	if before, ok := ev.Old.(*corev1.Node); ok && before.UID == node.UID && decide.First(before) == decide.First(node) &&
		before.Spec.ProviderID == node.Spec.ProviderID && len(before.Spec.Taints) == len(node.Spec.Taints) {
		return nil // a heartbeat
	}
	return c.wake(node.Name)
}

// wakeForInstance enqueues the Node of an instance.
func (c *Controller) wakeForInstance(ev loop.Event) []types.NamespacedName {
	i, ok := cloud.InstanceOf(ev)
	if !ok {
		return nil
	}
	return c.wake(i.Name)
}

func (c *Controller) wake(node string) []types.NamespacedName {
	key := types.NamespacedName{Name: node}
	c.passes.Wake(key, c.clock.Now())
	return []types.NamespacedName{key}
}

// Reconcile looks at a Node when it is time for a pass.
func (c *Controller) Reconcile(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
	if ok, wait := c.passes.Take(key, c.clock.Now()); !ok {
		return loop.Result{RequeueAfter: wait, Postponed: wait > 0}, nil
	}
	node, err := c.nodes.Get(key.Name)
	if apierrors.IsNotFound(err) {
		return loop.Result{}, nil
	}
	if err == nil {
		err = c.monitor(ctx, node)
	}
	if err == nil {
		return loop.Result{}, nil
	}
	again := c.passes.Again(key, c.clock.Now())
	if apierrors.IsConflict(err) {
		return loop.Result{RequeueAfter: again}, nil // the Node has changed since
	}
	return loop.Result{RequeueAfter: again}, fmt.Errorf("monitoring node %s: %w", key.Name, err)
}

// monitor takes the action that a Node needs.
func (c *Controller) monitor(ctx context.Context, node *corev1.Node) error {
	switch decide.First(node) {
	case decide.Nothing:
		return nil
	case decide.Untaint:
		return c.setTaints(ctx, node, decide.Untainted(node))
	}
	answer, err := c.ask(ctx, node)
	if err != nil {
		return err
	}
	switch decide.Judge(node, answer) {
	case decide.Taint:
		return c.setTaints(ctx, node, decide.Tainted(node))
	case decide.Delete:
		return c.delete(ctx, node)
	}
	return nil
}

// ask asks the cloud for the instance of a Node.
func (c *Controller) ask(ctx context.Context, node *corev1.Node) (decide.Answer, error) {
	const exists, shutdown = "instance_exists", "instance_shutdown"
	i, err := c.cloud.Instance(ctx, node)
	switch {
	case errors.Is(err, cloud.ErrNotFound):
		c.calls.WithLabelValues(exists, "instance_not_found").Inc()
		return decide.Missing, nil
	case errors.Is(err, cloud.ErrForeign):
		c.calls.WithLabelValues(exists, "error").Inc()
		return decide.Unknown, nil
	case errors.Is(err, context.Canceled):
		c.calls.WithLabelValues(exists, "canceled").Inc()
		return decide.Unknown, err
	case err != nil:
		c.calls.WithLabelValues(exists, "error").Inc()
		return decide.Unknown, err
	}
	c.calls.WithLabelValues(exists, "success").Inc()
	c.calls.WithLabelValues(shutdown, "success").Inc()
	if i.Stopped {
		return decide.Shutdown, nil
	}
	return decide.Runs, nil
}

func (c *Controller) setTaints(ctx context.Context, node *corev1.Node, taints []corev1.Taint) error {
	if err := c.write.SetTaints(ctx, node, taints); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("writing its taints: %w", err)
	}
	return nil
}

// delete deletes a Node whose instance does not exist.
func (c *Controller) delete(ctx context.Context, node *corev1.Node) error {
	c.event(node, corev1.EventTypeNormal, "DeletingNode", fmt.Sprintf("Deleting node %s because it does not exist in the cloud provider", node.Name))
	err := c.write.Delete(ctx, node)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err == nil, apierrors.IsConflict(err):
		return err
	}
	c.event(node, corev1.EventTypeWarning, "DeletingNodeFailed", fmt.Sprintf("Failed deleting node %s: %v", node.Name, err))
	return fmt.Errorf("deleting it: %w", err)
}

// clientNodes are the nodes of a client.
type clientNodes struct{ client coreclient.NodeInterface }

func (n clientNodes) Delete(ctx context.Context, node *corev1.Node) error {
	return n.client.Delete(ctx, node.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &node.UID, ResourceVersion: &node.ResourceVersion}})
}

func (n clientNodes) SetTaints(ctx context.Context, node *corev1.Node, taints []corev1.Taint) error {
	patch, err := taintsPatch(node, taints)
	if err != nil {
		return err
	}
	_, err = n.client.Patch(ctx, node.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// taintsPatch returns the merge patch that sets the taints of a Node which has not changed.
func taintsPatch(node *corev1.Node, taints []corev1.Taint) ([]byte, error) {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": node.ResourceVersion},
		"spec":     map[string]any{"taints": slices.Clone(taints)},
	})
	if err != nil {
		return nil, fmt.Errorf("encoding the taints of node %s: %w", node.Name, err)
	}
	return patch, nil
}
