package nodelifecycle

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/record"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/controllers/internal/nodelifecycle/bynode"
	"minikcm.dev/minikcm/controllers/internal/nodelifecycle/decide"
	"minikcm.dev/minikcm/internal/heartbeats"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is upstream's name of the controller.
const Name = "node-lifecycle-controller"

const (
	eventSource = "node-controller"
	workers     = 8
)

// Descriptor describes the controller.
func Descriptor() controller.Descriptor {
	return controller.Descriptor{
		Name: Name, Workers: workers, Aliases: []string{"nodelifecycle"}, Account: "node-controller",
		About:   "taints nodes whose heartbeats stop",
		Watches: []string{"nodes", "leases", "pods"}, Writes: []string{"nodes", "nodes/status", "pods/status"},
		Docs:     "concepts/architecture/nodes/#node-controller",
		Defaults: defaults, Flags: flags,
		Build: build,
	}
}

// Controller monitors the heartbeats of nodes, and taints nodes.
type Controller struct {
	clock      clock.Clock
	opts       Options
	epoch      time.Time
	client     kubernetes.Interface
	nodes      corelisters.NodeLister
	podsByNode bynode.Pods
	heartbeats *heard
	// unwritten knows the heartbeats that are not written, or not when they are sent.
	unwritten *heartbeats.Elision
	events    record.EventRecorder

	mu    sync.Mutex
	zones *decide.Zones

	// nodeLoop's keys are nodes; podLoop's are pods of nodes that are not ready.
	nodeLoop, podLoop loop.Loop
}

func build(p *controller.Parts) error {
	opts := options(p.Settings)
	leases := p.Informers.Leases()
	podsByNode, err := bynode.New(p.Informers.Pods().Informer())
	if err != nil {
		return err
	}
	c := &Controller{
		clock: p.Clock, opts: opts, epoch: p.Clock.Now(), client: p.Client,
		nodes: p.Informers.Nodes().Lister(), podsByNode: podsByNode,
		heartbeats: newHeard(), unwritten: p.Heartbeats, zones: decide.NewZones(opts.Zones), events: p.Recorder.For(eventSource),
	}
	c.nodeLoop = p.Loop(controller.Each(p.Informers.Nodes().Informer(), c.reconcileNode))
	c.nodeLoop.Watch(p.Informers.Nodes().Informer(), c.wakeForNode)
	c.nodeLoop.Watch(leases.Informer(), c.hearLease)
	c.podLoop = p.Beside("-pods", workers, controller.Each(p.Informers.Pods().Informer(), c.reconcilePod))
	c.podLoop.Watch(p.Informers.Pods().Informer(), c.wakeForPod)
	p.Heartbeats.Notify(func(node string) { c.nodeLoop.Add(types.NamespacedName{Name: node}) })
	return nil
}

// reconcileNode takes the next step for one node.
func (c *Controller) reconcileNode(ctx context.Context, node *corev1.Node) (loop.Result, error) {
	beat, known := c.heartbeats.get(node.Name)
	if !known {
		return loop.Result{}, nil // the node has been deleted
	}
	now := c.clock.Now()
	if ago, late := c.unwritten.Latest(node.Name); late { // the informer may not have delivered it yet
		beat.hear(now, ago)
	}
	d := c.decide(node, beat, now)
	if d.Conditions != nil {
		return loop.Result{}, c.writeConditions(ctx, node, d)
	}
	if err := c.patch(ctx, node, d); err != nil {
		return loop.Result{}, err
	}
	return loop.Result{RequeueAfter: d.After}, nil
}

// decide calls decide.Node, and requests the node's turn in its zone if the decision needs one.
func (c *Controller) decide(node *corev1.Node, beat heartbeat, now time.Time) decide.Decision {
	c.mu.Lock()
	defer c.mu.Unlock()
	in := decide.Snapshot{
		Node: node, Heard: beat.heard, Since: beat.since,
		Grace: c.opts.MonitorGracePeriod, StartupGrace: c.opts.StartupGracePeriod,
		Epoch: c.epoch, Period: c.opts.MonitorPeriod, Beats: c.unwritten.Idle(node.Name),
		Lost: c.zones.Lost(),
	}
	d := decide.Node(in, now)
	if !d.NeedsTurn {
		return d
	}
	switch wait := c.zones.Turn(node.Name, now); {
	case wait == 0:
		in.MayEvict = true
		d = decide.Node(in, now)
	case wait > 0:
		d.Within(wait)
	}
	return d
}

func (c *Controller) writeConditions(ctx context.Context, node *corev1.Node, d decide.Decision) error {
	updated := node.DeepCopy()
	updated.Status.Conditions = d.Conditions
	if _, err := c.client.CoreV1().Nodes().UpdateStatus(ctx, updated, metav1.UpdateOptions{}); err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("writing the conditions of node %s: %w", node.Name, err)
	}
	if d.WentSilent {
		c.events.Eventf(reference(node), corev1.EventTypeNormal, "NodeNotReady", "Node %s status is now: %s", node.Name, "NodeNotReady")
	}
	return nil
}

// nodePatch is a merge patch of the fields other than conditions that the controller
// writes.
type nodePatch struct {
	Metadata struct {
		ResourceVersion string            `json:"resourceVersion"`
		Labels          map[string]string `json:"labels,omitempty"`
	} `json:"metadata"`
	Spec *taintPatch `json:"spec,omitempty"`
}

type taintPatch struct {
	Taints []corev1.Taint `json:"taints"`
}

func (c *Controller) patch(ctx context.Context, node *corev1.Node, d decide.Decision) error {
	if len(d.Labels) == 0 && !d.ChangeTaints {
		return nil
	}
	var p nodePatch
	p.Metadata.ResourceVersion = node.ResourceVersion
	p.Metadata.Labels = d.Labels
	if d.ChangeTaints {
		p.Spec = &taintPatch{Taints: d.Taints}
	}
	data, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("encoding the patch of node %s: %w", node.Name, err)
	}
	_, err = c.client.CoreV1().Nodes().Patch(ctx, node.Name, types.MergePatchType, data, metav1.PatchOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("patching taints and labels of node %s: %w", node.Name, err)
	}
	return nil
}
