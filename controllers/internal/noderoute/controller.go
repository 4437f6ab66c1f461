package noderoute

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/controllers/internal/cloud"
	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/controllers/internal/env"
	"minikcm.dev/minikcm/controllers/internal/noderoute/decide"
	"minikcm.dev/minikcm/internal/loop"
	"minikcm.dev/minikcm/internal/simulatedcloud"
)

// Name is upstream's name of the controller.
const Name = "node-route-controller"

// eventSource is the component of the events, as upstream.
const eventSource = "route_controller"

// all is the key of a pass, which is over all Nodes.
var all = types.NamespacedName{Name: "routes"}

// conditions writes conditions of Nodes.
type conditions interface {
	Set(ctx context.Context, node *corev1.Node, condition *corev1.NodeCondition) error
}

// Descriptor describes the controller.
func Descriptor() controller.Descriptor {
	return controller.Descriptor{
		Name: Name, Aliases: []string{"route"}, Account: "route-controller",
		About:   "keeps routes to the pod networks of nodes in the simulated cloud",
		Watches: []string{"nodes", "configmaps"}, Writes: []string{"configmaps", "nodes/status"},
		Docs: "concepts/architecture/cloud-controller/#route-controller",
		Defaults: func(s *controller.Settings) {
			s.KubeCloudShared.ConfigureCloudRoutes = ptr.To(true)
			s.KubeCloudShared.RouteReconciliationPeriod.Duration = DefaultPeriod
		},
		Flags: flags, Idle: idle,
		Build: build,
	}
}

// Controller keeps the routes to the Nodes. Its only key is a pass.
type Controller struct {
	clock      clock.PassiveClock
	nodes      corelisters.NodeLister
	conditions conditions
	cloud      *cloud.Cloud
	clusters   []netip.Prefix
	passes     *cloud.Passes
	report     func(node *corev1.Node, message string)
	syncs      *prometheus.CounterVec
}

func build(p *controller.Parts) error {
	shared := &p.Settings.KubeCloudShared
	clusters, err := clusters(shared.ClusterCIDR)
	if err != nil {
		return err
	}
	of, err := cloud.New(p.Env)
	if err != nil {
		return err
	}
	recorder := p.Recorder.For(eventSource)
	c := newController(p.Clock, p.Informers.Nodes().Lister(), clientConditions{p.Client.CoreV1().Nodes()}, of, clusters, cloud.NewPasses(p.Clock.Now(), cmp.Or(shared.RouteReconciliationPeriod.Duration, DefaultPeriod)))
	c.syncs = env.Register(p.Env, newSyncs())
	c.report = func(node *corev1.Node, message string) {
		recorder.Event(&corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}, corev1.EventTypeWarning, "FailedToCreateRoute", message)
	}
	l := p.Loop(c)
	l.Watch(p.Informers.Nodes().Informer(), c.wakeForNode)
	l.Watch(of.Informer, c.wakeForCloud)
	return nil
}

func newController(now clock.PassiveClock, lister corelisters.NodeLister, write conditions, of *cloud.Cloud, clusters []netip.Prefix, passes *cloud.Passes) *Controller {
	return &Controller{
		clock: now, nodes: lister, conditions: write, cloud: of, clusters: clusters, passes: passes,
		report: func(*corev1.Node, string) {}, syncs: newSyncs(),
	}
}

func newSyncs() *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "route_controller_route_sync_total",
		Help: "Passes over the routes, by what started them and by their outcome: changed, noop or error.",
	}, []string{"outcome", "trigger"})
}

// wakeForNode enqueues a pass for Nodes that are new, gone, or have other networks or another
// condition of their network.
func (c *Controller) wakeForNode(ev loop.Event) []types.NamespacedName {
	now, ok := ev.Object.(*corev1.Node)
	if !ok {
		return nil
	}
	if before, ok := ev.Old.(*corev1.Node); ok && before.UID == now.UID &&
		slices.Equal(before.Spec.PodCIDRs, now.Spec.PodCIDRs) && network(before) == network(now) {
		return nil
	}
	return c.wake()
}

// network returns the fields of a Node's network condition that the controller reads.
func network(node *corev1.Node) corev1.NodeCondition {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeNetworkUnavailable {
			return corev1.NodeCondition{Status: c.Status, Reason: c.Reason}
		}
	}
	return corev1.NodeCondition{}
}

// wakeForCloud enqueues a pass for each change of the cloud.
func (c *Controller) wakeForCloud(ev loop.Event) []types.NamespacedName {
	if !cloud.Concerns(ev) {
		return nil
	}
	return c.wake()
}

func (c *Controller) wake() []types.NamespacedName {
	c.passes.Wake(all, c.clock.Now())
	return []types.NamespacedName{all}
}

// Reconcile compares all routes with all Nodes when it is time for a pass. After a failure the next
// pass follows.
func (c *Controller) Reconcile(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
	if ok, wait := c.passes.Take(key, c.clock.Now()); !ok {
		return loop.Result{RequeueAfter: wait, Postponed: wait > 0}, nil
	}
	changed, failed, err := c.pass(ctx)
	outcome := "noop"
	switch {
	case err != nil:
		outcome = "error"
	case changed:
		outcome = "changed"
	}
	c.syncs.WithLabelValues(outcome, "periodic").Inc()
	if err != nil || failed {
		return loop.Result{RequeueAfter: c.passes.Again(key, c.clock.Now())}, err
	}
	return loop.Result{}, nil
}

// pass changes the routes and then the conditions of the Nodes. It returns whether a route has
// changed, and whether something could not be done and has been reported.
func (c *Controller) pass(ctx context.Context) (changed, failed bool, err error) {
	inventory, err := c.cloud.Inventory(ctx)
	if err != nil {
		return false, false, fmt.Errorf("error listing routes: %w", err)
	}
	nodes, err := c.nodes.List(labels.Everything())
	if err != nil {
		return false, false, fmt.Errorf("error listing nodes: %w", err)
	}
	slices.SortFunc(nodes, func(a, b *corev1.Node) int { return cmp.Compare(a.Name, b.Name) })
	known := slices.Clone(inventory.Routes)
	plan := decide.Routes(nodes, known, c.clusters)
	var errs []error
	var left []simulatedcloud.Route
	for _, r := range plan.Delete {
		if err := c.cloud.DeleteRoute(ctx, &inventory, r); err != nil {
			errs = append(errs, fmt.Errorf("deleting route %s of %s: %w", r.Name, r.Destination, err))
			left = append(left, r)
			continue
		}
		changed = true
	}
	for _, r := range plan.Create {
		if slices.ContainsFunc(left, func(l simulatedcloud.Route) bool { return l.Destination.Overlaps(r.Destination) }) {
			continue // the next pass deletes that first
		}
		if c.create(ctx, &inventory, nodes, r) {
			changed = true
		} else {
			failed = true
		}
	}
	table, before := decide.TableOf(inventory.Routes), decide.TableOf(known).Targets()
	for _, node := range nodes {
		if len(node.Spec.PodCIDRs) == 0 && !before[node.Name] {
			continue // no route has ever led to it
		}
		condition := decide.Condition(node, table.Reaches(node), metav1.NewTime(c.clock.Now()))
		if condition == nil {
			continue
		}
		if err := c.conditions.Set(ctx, node, condition); err != nil && !apierrors.IsNotFound(err) {
			errs = append(errs, fmt.Errorf("writing the condition of node %s: %w", node.Name, err))
		}
	}
	return changed, failed, errors.Join(errs...)
}

// create creates a route. It returns false if it could not, and reports why.
func (c *Controller) create(ctx context.Context, inventory *simulatedcloud.Inventory, nodes []*corev1.Node, r simulatedcloud.Route) bool {
	begun := c.clock.Now()
	err := c.cloud.CreateRoute(ctx, inventory, r)
	if err == nil {
		return true
	}
	for _, node := range nodes {
		if node.Name == r.Node {
			c.report(node, fmt.Sprintf("Could not create route %s %s for node %s after %v: %v", r.Hint, r.Destination, r.Node, c.clock.Since(begun), err))
		}
	}
	return false
}

// clientConditions are the conditions of a client.
type clientConditions struct{ client coreclient.NodeInterface }

func (n clientConditions) Set(ctx context.Context, node *corev1.Node, condition *corev1.NodeCondition) error {
	patch, err := conditionPatch(node, condition)
	if err != nil {
		return err
	}
	_, err = n.client.Patch(ctx, node.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}

// conditionPatch returns the patch that sets a condition of a Node of that UID.
func conditionPatch(node *corev1.Node, condition *corev1.NodeCondition) ([]byte, error) {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": node.UID},
		"status":   map[string]any{"conditions": []corev1.NodeCondition{*condition}},
	})
	if err != nil {
		return nil, fmt.Errorf("encoding the condition of node %s: %w", node.Name, err)
	}
	return patch, nil
}
