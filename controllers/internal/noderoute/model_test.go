package noderoute

import (
	"context"
	"fmt"
	"net/netip"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"
	"pgregory.net/rapid"

	"minikcm.dev/minikcm/controllers/internal/cloud"
	"minikcm.dev/minikcm/controllers/internal/cloud/cloudtest"
	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/controllers/internal/modeltest"
	"minikcm.dev/minikcm/controllers/internal/noderoute/decide"
	"minikcm.dev/minikcm/internal/loop"
	"minikcm.dev/minikcm/internal/simulatedcloud"
)

const historySteps = 150

// networks are the networks that Nodes get; the first contains the next two.
var networks = []string{"10.0.0.0/23", "10.0.0.0/24", "10.0.1.0/24", "10.0.2.0/24"}

// outside is a network that no Node of the cluster has.
const outside = "192.168.0.0/24"

// model is a world with Nodes whose networks do not overlap, and a cloud.
type model struct {
	*modeltest.Run
	t *rapid.T
}

// planted are the mistakes of a controller.
type planted struct {
	stuck, reckless, deaf bool
}

// recklessStore creates a route though another one could not be deleted: its errors are hidden.
type recklessStore struct{ *cloudtest.Store }

func (s recklessStore) Delete(context.Context, *corev1.ConfigMap) error { return nil }

// worldConditions are the conditions of the Nodes of the world.
type worldConditions struct{ writer executor.Writer }

func (c worldConditions) Set(ctx context.Context, node *corev1.Node, condition *corev1.NodeCondition) error {
	patch, err := conditionPatch(node, condition)
	if err != nil {
		return err
	}
	_, err = c.writer.Patch(ctx, node, patch)
	return err
}

func newModel(t *rapid.T, mistakes planted) *model {
	m := &model{Run: modeltest.NewRun(func(n int, label string) int { return rapid.IntRange(0, n-1).Draw(t, label) }), t: t}
	m.World.AfterWrite = m.neverOverlapping
	m.must(m.Actor(Name, func(a *modeltest.Actor) (loop.Reconciler, error) {
		nodes, maps := a.Watch(&corev1.Node{}), a.Watch(&corev1.ConfigMap{})
		own := &cloudtest.Store{World: m.World, Writer: a.Writer(), Stuck: mistakes.stuck}
		var store cloud.Store = own
		if mistakes.reckless {
			store = recklessStore{own}
		}
		clusters := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/16")}
		c := newController(m.Clock, corelisters.NewNodeLister(nodes), worldConditions{a.Writer()}, cloud.NewOn(store, maps), clusters, cloud.NewPasses(m.Clock.Now(), DefaultPeriod))
		a.OnEvent(&corev1.Node{}, c.wakeForNode)
		if !mistakes.deaf {
			a.OnEvent(&corev1.ConfigMap{}, c.wakeForCloud)
		}
		return loop.Func(func(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
			result, err := c.Reconcile(ctx, key)
			if err != nil {
				return loop.Result{RequeueAfter: time.Second}, nil
			}
			return result, nil
		}), nil
	}))
	m.Other(m.act)
	return m
}

func (m *model) must(err error) {
	if err != nil {
		m.t.Fatal(err)
	}
}

func like(name string) *corev1.Node { return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}} }

// neverOverlapping checks the routes to the cluster's networks.
func (m *model) neverOverlapping() {
	routes := m.inventory().Routes
	for i, a := range routes {
		for _, b := range routes[i+1:] {
			if a.Destination.Overlaps(b.Destination) {
				m.t.Fatalf("the route %s to %s overlaps %s to %s", a.Destination, a.Node, b.Destination, b.Node)
			}
		}
	}
}

func (m *model) inventory() simulatedcloud.Inventory {
	return simulatedcloud.InventoryOf(modeltest.List[*corev1.ConfigMap](m.World))
}

// free returns whether no Node has a network that overlaps.
func (m *model) free(network string) bool {
	for _, node := range modeltest.List[*corev1.Node](m.World) {
		for _, other := range node.Spec.PodCIDRs {
			if netip.MustParsePrefix(other).Overlaps(netip.MustParsePrefix(network)) {
				return false
			}
		}
	}
	return true
}

// act performs a random action of a machine or a user.
func (m *model) act(draw modeltest.Draw) bool {
	ctx, node := m.t.Context(), like(fmt.Sprint("n", draw(4, "node")))
	switch draw(7, "act") {
	case 0, 1:
		network := networks[draw(len(networks), "network")]
		if _, err := m.World.Get(ctx, node); err != nil && m.free(network) {
			node.Spec.ProviderID = cloudtest.Boot(ctx, m.World, node.Name, m.Clock.Now())
			node.Spec.PodCIDR, node.Spec.PodCIDRs = network, []string{network}
			_, err := m.World.Create(ctx, node)
			m.must(err)
		}
	case 2:
		if live, err := m.World.Get(ctx, node); err == nil {
			m.must(m.World.Delete(ctx, live))
		}
	case 3:
		cloudtest.Kill(ctx, m.World, node.Name)
	case 4:
		cloudtest.Boot(ctx, m.World, node.Name, m.Clock.Now())
	case 5:
		cloudtest.Kill(ctx, m.World, simulatedcloud.RouteName(netip.MustParsePrefix(networks[draw(len(networks), "route")])))
	case 6:
		m.quota(draw(4, "quota"))
		foreign := simulatedcloud.Route{Node: "vpn", Destination: netip.MustParsePrefix(outside)}
		_, _ = m.World.Create(ctx, foreign.ConfigMap()) // it may exist
	}
	return true
}

// quota sets the quota of routes; with 0 there is none.
func (m *model) quota(n int) {
	ctx := m.t.Context()
	cloudtest.Kill(ctx, m.World, simulatedcloud.Quotas)
	if n > 0 {
		quotas := cloudtest.Named(simulatedcloud.Quotas)
		quotas.Data = map[string]string{"routes": fmt.Sprint(n)}
		_, err := m.World.Create(ctx, quotas)
		m.must(err)
	}
}

// inTheEnd checks that the Nodes with instances have routes, and the others have none.
func (m *model) inTheEnd() {
	v := m.inventory()
	table := decide.TableOf(v.Routes)
	wanted := map[netip.Prefix]bool{netip.MustParsePrefix(outside): true}
	for _, node := range modeltest.List[*corev1.Node](m.World) {
		_, exists := v.Instances[node.Name]
		if exists {
			wanted[netip.MustParsePrefix(node.Spec.PodCIDR)] = true
		}
		if table.Reaches(node) != exists {
			m.t.Fatalf("node %s has a route: %v, and its instance exists: %v", node.Name, !exists, exists)
		}
		if c := decide.Condition(node, exists, metav1.Time{}); c != nil {
			m.t.Fatalf("the condition of node %s is not %s", node.Name, c.Reason)
		}
	}
	for _, r := range v.Routes {
		if !wanted[r.Destination] {
			m.t.Fatalf("the route %s to %s is left", r.Destination, r.Node)
		}
	}
}

func routesFollowNodes(t *rapid.T, mistakes planted) {
	m := newModel(t, mistakes)
	m.Crashes = true
	m.must(m.Steps(historySteps))
	m.Crashes = false
	m.quota(0)
	_ = m.Settle(2_000, time.Minute) // a pass that failed is repeated for ever
	m.must(m.Err())
	m.inTheEnd()
}

// TestRoutesFollowNodes checks that no two routes ever overlap, and that in the end there is a route
// to each Node with an instance and no other, whatever happens between the controller's writes and
// wherever it crashes.
func TestRoutesFollowNodes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { routesFollowNodes(t, planted{}) })
}

// TestPlantedMistakesAreSeen checks that the properties detect wrong controllers.
func TestPlantedMistakesAreSeen(t *testing.T) {
	for name, p := range map[string]struct {
		mistakes planted
		want     string
	}{
		"it takes failed deletions for done": {planted{reckless: true}, "overlaps"},
		"it deletes nothing":                 {planted{stuck: true}, "is left"},
		"it hears nothing of the cloud":      {planted{deaf: true}, "has a route"},
	} {
		t.Run(name, func(t *testing.T) {
			modeltest.MustBreak(t, p.want, func(t *rapid.T) { routesFollowNodes(t, p.mistakes) })
		})
	}
}
