package cloudnodelifecycle

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"pgregory.net/rapid"

	"minikcm.dev/minikcm/controllers/internal/cloud"
	"minikcm.dev/minikcm/controllers/internal/cloud/cloudtest"
	"minikcm.dev/minikcm/controllers/internal/cloudnodelifecycle/decide"
	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/controllers/internal/modeltest"
	"minikcm.dev/minikcm/controllers/internal/plan"
	"minikcm.dev/minikcm/internal/loop"
	"minikcm.dev/minikcm/internal/simulatedcloud"
)

const historySteps = 150

// model is a world with Nodes and their instances.
type model struct {
	*modeltest.Run
	t *rapid.T
}

// planted are the mistakes of a controller.
type planted struct{ blind, careless, deaf bool }

// worldNodes are the Nodes of the world as the controller writes them.
type worldNodes struct {
	m        *model
	writer   executor.Writer
	careless bool
}

func like(name string) *corev1.Node { return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}} }

func isReady(node *corev1.Node) bool { return decide.First(node) != decide.Ask }

// Delete checks that the Node has not changed, after others have acted, and what must hold of a Node
// that is deleted.
func (n worldNodes) Delete(ctx context.Context, node *corev1.Node) error {
	patch := fmt.Sprintf(`{"metadata":{"uid":%q,"resourceVersion":%q}}`, node.UID, node.ResourceVersion)
	if n.careless {
		patch = "{}"
	}
	if _, err := n.writer.Patch(ctx, node, []byte(patch)); err != nil {
		return err
	}
	o, err := n.m.World.Get(ctx, node)
	if err != nil {
		return err
	}
	live := o.(*corev1.Node)
	if isReady(live) {
		n.m.t.Fatalf("node %s is Ready and is deleted", node.Name)
	}
	if i, ok := cloudtest.Find(ctx, n.m.World, node.Name); ok && i.ProviderID == live.Spec.ProviderID {
		n.m.t.Fatalf("node %s is deleted, and its instance exists", node.Name)
	}
	return n.m.World.Delete(ctx, live)
}

func (n worldNodes) SetTaints(ctx context.Context, node *corev1.Node, taints []corev1.Taint) error {
	patch, err := taintsPatch(node, taints)
	if err != nil {
		return err
	}
	_, err = n.writer.Patch(ctx, node, patch)
	return err
}

func newModel(t *rapid.T, mistakes planted) *model {
	m := &model{Run: modeltest.NewRun(func(n int, label string) int { return rapid.IntRange(0, n-1).Draw(t, label) }), t: t}
	m.must(m.Actor(Name, func(a *modeltest.Actor) (loop.Reconciler, error) {
		nodes, maps := a.Watch(&corev1.Node{}), a.Watch(&corev1.ConfigMap{})
		store := &cloudtest.Store{World: m.World, Writer: a.Writer(), Blind: mistakes.blind}
		c := newController(m.Clock, corelisters.NewNodeLister(nodes), worldNodes{m, a.Writer(), mistakes.careless}, cloud.NewOn(store, maps), DefaultMonitorPeriod)
		a.OnEvent(&corev1.Node{}, c.wakeForNode)
		if !mistakes.deaf {
			a.OnEvent(&corev1.ConfigMap{}, c.wakeForInstance)
		}
		return c, nil
	}))
	m.Other(m.act)
	return m
}

func (m *model) must(err error) {
	if err != nil {
		m.t.Fatal(err)
	}
}

// act performs a random action of a machine, its kubelet or the user.
func (m *model) act(draw modeltest.Draw) bool {
	ctx, node := m.t.Context(), like(fmt.Sprint("n", draw(3, "node")))
	switch draw(7, "act") {
	case 0, 1:
		if _, err := m.World.Get(ctx, node); err != nil {
			node.Spec.ProviderID = cloudtest.Boot(ctx, m.World, node.Name, m.Clock.Now())
			_, err := m.World.Create(ctx, node)
			m.must(err)
		}
	case 2, 3:
		status := []corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionUnknown, corev1.ConditionFalse}[draw(3, "ready")]
		m.World.Change(node, func(o plan.Object) {
			o.(*corev1.Node).Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}
		})
	case 4:
		cloudtest.Kill(ctx, m.World, node.Name)
	case 5:
		cloudtest.SetState(m.World, node.Name, []string{simulatedcloud.Stopped, simulatedcloud.Running}[draw(2, "state")])
	case 6:
		if live, err := m.World.Get(ctx, node); err == nil {
			m.must(m.World.Delete(ctx, live))
		}
	}
	return true
}

// inTheEnd checks that the Nodes follow their instances.
func (m *model) inTheEnd() {
	for _, node := range modeltest.List[*corev1.Node](m.World) {
		i, exists := cloudtest.Find(m.t.Context(), m.World, node.Name)
		exists = exists && i.ProviderID == node.Spec.ProviderID
		tainted := len(node.Spec.Taints) > 0
		switch {
		case isReady(node) && tainted:
			m.t.Fatalf("node %s is Ready and has the taint", node.Name)
		case isReady(node):
		case !exists:
			m.t.Fatalf("node %s is left without its instance", node.Name)
		case i.Stopped && !tainted:
			m.t.Fatalf("node %s is shut down and has no taint", node.Name)
		}
	}
}

func nodesFollowInstances(t *rapid.T, mistakes planted) {
	m := newModel(t, mistakes)
	m.Crashes = true
	m.must(m.Steps(historySteps))
	m.Crashes = false
	m.must(m.Settle(2_000, time.Minute))
	m.must(m.Err())
	m.inTheEnd()
}

// TestNodesFollowInstances checks that no Node is deleted that is Ready or has its instance, and that
// in the end all others whose instances are gone are deleted, whatever happens between the
// controller's writes and wherever it crashes.
func TestNodesFollowInstances(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { nodesFollowInstances(t, planted{}) })
}

// TestPlantedMistakesAreSeen checks that the properties detect wrong controllers.
func TestPlantedMistakesAreSeen(t *testing.T) {
	for name, p := range map[string]struct {
		mistakes planted
		want     string
	}{
		"it trusts its cache":              {planted{blind: true}, "and its instance exists"},
		"it deletes what has changed":      {planted{careless: true}, "is Ready and is deleted"},
		"it hears nothing of the instance": {planted{deaf: true}, "node n"},
	} {
		t.Run(name, func(t *testing.T) {
			modeltest.MustBreak(t, p.want, func(t *rapid.T) { nodesFollowInstances(t, p.mistakes) })
		})
	}
}
