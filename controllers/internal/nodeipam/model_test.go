package nodeipam

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"pgregory.net/rapid"

	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/controllers/internal/modeltest"
	"minikcm.dev/minikcm/controllers/internal/nodeipam/decide"
	"minikcm.dev/minikcm/controllers/internal/plan"
	"minikcm.dev/minikcm/internal/loop"
)

const historySteps = 150

// model is a world with Nodes, which users create and delete, some with a network in their spec.
// There are networks for three Nodes.
type model struct {
	*modeltest.Run
	t *rapid.T
	// full counts the Nodes that were refused.
	full int
}

// mistake changes a controller that has just started.
type mistake func(m *model, c *Controller)

// worldAPI is the world as the controller's API.
type worldAPI struct {
	m      *model
	writer executor.Writer
}

func like(name string) *corev1.Node { return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}} }

func (a worldAPI) List(context.Context) ([]*corev1.Node, error) {
	return modeltest.List[*corev1.Node](a.m.World), nil
}

func (a worldAPI) Get(ctx context.Context, name string) (*corev1.Node, error) {
	node, err := a.writer.Get(ctx, like(name))
	if err != nil {
		return nil, err
	}
	return node.(*corev1.Node), nil
}

func (a worldAPI) SetPodCIDRs(ctx context.Context, node *corev1.Node, podCIDRs []string) error {
	live, err := a.Get(ctx, node.Name)
	if err == nil && live.UID == node.UID && len(live.Spec.PodCIDRs) > 0 && fmt.Sprint(live.Spec.PodCIDRs) != fmt.Sprint(podCIDRs) {
		a.m.t.Fatalf("the networks of %s would change from %v to %v", node.Name, live.Spec.PodCIDRs, podCIDRs)
	}
	patch, err := podCIDRsPatch(node, podCIDRs)
	if err != nil {
		return err
	}
	_, err = a.writer.Patch(ctx, node, patch)
	return err
}

// neverOverlapping checks the networks of all Nodes.
func (m *model) neverOverlapping() {
	holders := map[netip.Prefix]string{}
	for _, node := range modeltest.List[*corev1.Node](m.World) {
		for _, text := range node.Spec.PodCIDRs {
			network := netip.MustParsePrefix(text)
			for other, holder := range holders {
				if other.Overlaps(network) {
					m.t.Fatalf("%s has %s, which overlaps %s of %s", node.Name, network, other, holder)
				}
			}
			holders[network] = node.Name
		}
	}
}

// allInTheEnd checks that every Node has a network, as far as there are any.
func (m *model) allInTheEnd() {
	with, without := 0, 0
	for _, node := range modeltest.List[*corev1.Node](m.World) {
		switch {
		case len(node.Spec.PodCIDRs) == 0:
			without++
		case node.Spec.PodCIDR != outside:
			with++
		}
	}
	if without > 0 && with < 3 {
		m.t.Fatalf("%d Nodes have no network, and only %d have one of three", without, with)
	}
}

// outside is a network that is not in the cluster's range.
const outside = "192.168.0.0/24"

func newModel(t *rapid.T, mistaken mistake) *model {
	m := &model{Run: modeltest.NewRun(func(n int, label string) int { return rapid.IntRange(0, n-1).Draw(t, label) }), t: t}
	m.World.AfterWrite = m.neverOverlapping
	m.must(m.Actor(Name, func(a *modeltest.Actor) (loop.Reconciler, error) {
		networks, err := decide.New([]decide.Cluster{{Range: netip.MustParsePrefix("10.0.0.0/22"), NodeBits: 24}}, netip.MustParsePrefix("10.0.1.0/24"))
		m.must(err)
		c := newController(worldAPI{m, a.Writer()}, corelisters.NewNodeLister(a.Watch(&corev1.Node{})), networks)
		c.report = func(*corev1.Node, string) { m.full++ }
		wake := []types.NamespacedName{}
		c.again = func(node string) { wake = append(wake, types.NamespacedName{Name: node}) }
		a.OnEvent(&corev1.Node{}, wakeForNode)
		mistaken(m, c)
		m.must(c.holdExisting(t.Context()))
		return loop.Func(func(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
			result, err := c.Reconcile(ctx, key)
			for _, again := range wake {
				_, _ = c.Reconcile(ctx, again)
			}
			wake = nil
			if err != nil {
				return loop.Result{RequeueAfter: time.Second}, nil
			}
			return result, nil
		}), nil
	}))
	m.Other(m.user)
	return m
}

func (m *model) must(err error) {
	if err != nil {
		m.t.Fatal(err)
	}
}

// user creates and deletes Nodes.
func (m *model) user(draw modeltest.Draw) bool {
	node := like(fmt.Sprint("n", draw(5, "node")))
	switch draw(5, "user") {
	case 0, 1:
		_, _ = m.World.Create(m.t.Context(), node) // it may exist
	case 2:
		if node.Name == "n4" {
			node.Spec.PodCIDR, node.Spec.PodCIDRs = outside, []string{outside}
			_, _ = m.World.Create(m.t.Context(), node) // it may exist
		}
	case 3:
		if live, err := m.World.Get(m.t.Context(), node); err == nil {
			m.must(m.World.Delete(m.t.Context(), live))
		}
	case 4:
		m.World.Change(node, func(o plan.Object) { o.SetLabels(map[string]string{"a": fmt.Sprint(draw(3, "label"))}) })
	}
	return true
}

// TestNetworksNeverOverlap checks after every write that no two Nodes have networks that overlap,
// and in the end that no network is lost, whatever happens between the controller's writes and
// wherever it crashes and starts again with a cache that is behind.
func TestNetworksNeverOverlap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { networksNeverOverlap(t, func(*model, *Controller) {}) })
}

func networksNeverOverlap(t *rapid.T, mistaken mistake) {
	m := newModel(t, mistaken)
	m.Crashes = true
	m.must(m.Steps(historySteps))
	m.Crashes = false
	_ = m.Settle(2_000, time.Minute) // Nodes that wait are requeued for ever
	m.must(m.Err())
	m.allInTheEnd()
}

// blindAPI is an API without Nodes when the controller starts.
type blindAPI struct{ api }

func (blindAPI) List(context.Context) ([]*corev1.Node, error) { return nil, nil }

// forgetfulAPI gives networks back once they are written.
type forgetfulAPI struct {
	api
	c *Controller
}

func (a forgetfulAPI) SetPodCIDRs(ctx context.Context, node *corev1.Node, podCIDRs []string) error {
	err := a.api.SetPodCIDRs(ctx, node, podCIDRs)
	a.c.networks.Free(node.Name)
	return err
}

// hoardingAPI does not show that a Node is gone.
type hoardingAPI struct{ api }

func (a hoardingAPI) Get(ctx context.Context, name string) (*corev1.Node, error) {
	node, err := a.api.Get(ctx, name)
	if apierrors.IsNotFound(err) {
		return nil, errors.New("the API does not answer")
	}
	return node, err
}

// TestACacheBehindAfterARestart starts the controller with a cache that has not seen yet that node
// a was deleted and created again.
func TestACacheBehindAfterARestart(t *testing.T) {
	now, before := like("a"), like("a")
	now.UID, before.UID = "2", "1"
	now.Spec.PodCIDRs = []string{"10.0.0.0/24"}
	networks, err := decide.New([]decide.Cluster{{Range: netip.MustParsePrefix("10.0.0.0/23"), NodeBits: 24}})
	if err != nil {
		t.Fatal(err)
	}
	cached := cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil)
	live := fakeAPI{"a": now, "b": like("b")}
	c := newController(live, corelisters.NewNodeLister(cached), networks)
	if err := c.holdExisting(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		change func() error
		key    string
	}{
		{func() error { return cached.Add(before) }, "a"},
		{func() error { return cached.Delete(before) }, "a"},
		{func() error { return cached.Add(like("b")) }, "b"},
	} {
		if err := step.change(); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Reconcile(t.Context(), types.NamespacedName{Name: step.key}); err != nil {
			t.Fatal(err)
		}
	}
	if got := live["b"].Spec.PodCIDRs; len(got) != 1 || got[0] != "10.0.1.0/24" {
		t.Errorf("b has %v", got)
	}
}

// fakeAPI has Nodes by name.
type fakeAPI map[string]*corev1.Node

func (a fakeAPI) List(context.Context) ([]*corev1.Node, error) {
	return slices.Collect(maps.Values(a)), nil
}

func (a fakeAPI) Get(_ context.Context, name string) (*corev1.Node, error) { return a[name], nil }

func (a fakeAPI) SetPodCIDRs(_ context.Context, node *corev1.Node, podCIDRs []string) error {
	a[node.Name].Spec.PodCIDRs = podCIDRs
	return nil
}

// TestPlantedMistakesAreSeen checks that the properties detect wrong controllers.
func TestPlantedMistakesAreSeen(t *testing.T) {
	for name, planted := range map[string]struct {
		mistaken mistake
		want     string
	}{
		"it forgets after a restart":     {func(_ *model, c *Controller) { c.api = blindAPI{c.api} }, "which overlaps"},
		"it forgets what it has written": {func(_ *model, c *Controller) { c.api = forgetfulAPI{c.api, c} }, "which overlaps"},
		"it keeps what is gone":          {func(_ *model, c *Controller) { c.api = hoardingAPI{c.api} }, "have no network"},
	} {
		t.Run(name, func(t *testing.T) {
			modeltest.MustBreak(t, planted.want, func(t *rapid.T) { networksNeverOverlap(t, planted.mistaken) })
		})
	}
}
