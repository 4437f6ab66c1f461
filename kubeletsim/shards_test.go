package kubeletsim

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/kubeletsim/internal/nodes"
	"minikcm.dev/minikcm/kubeletsim/internal/podtest"
)

func unfenced(ctx context.Context) context.Context { return ctx }

// shardOf puts node-N into shard N.
func shardOf(node string) int { return strings.Index("01", strings.TrimPrefix(node, "node-")) }

// clientOfNodes returns a client of an API that has the Nodes of Options.Nodes already. Those that
// the fake creates have no UID.
func clientOfNodes(t *testing.T) *fake.Clientset {
	t.Helper()
	client := fake.NewClientset()
	for _, spec := range nodes.Specs(2, nodes.Spec{}, nil) {
		node := nodes.Declared(&spec)
		node.UID = types.UID("uid-" + node.Name)
		if err := client.Tracker().Add(node); err != nil {
			t.Fatal(err)
		}
	}
	return client
}

func (c *cluster) isSimulated(node string) func() bool {
	return func() bool {
		n := c.kubelet.nodes.Get(node)
		return n != nil && n.Active()
	}
}

// TestGainSeesPodOfHeldShard has an informer that is behind the list of Gain: the list shows a pod
// of a node that this process already simulates, and the informer's later event is no news.
func TestGainSeesPodOfHeldShard(t *testing.T) {
	client := clientOfNodes(t)
	client.PrependWatchReactor("pods", func(clienttesting.Action) (bool, watch.Interface, error) {
		return true, watch.NewFake(), nil // it never delivers anything
	})
	c := newClusterWith(t, client, clock.NewLedger(), Options{Nodes: 2, ShardOf: shardOf})
	if err := c.kubelet.StartAssigning(c.ctx, unfenced); err != nil {
		t.Fatal(err)
	}
	if err := c.kubelet.Gain(c.ctx, map[int]Fence{0: unfenced}); err != nil {
		t.Fatal(err)
	}
	c.eventually("node-0 is simulated", c.isSimulated("node-0"))
	c.create(podtest.Pod("web", "node-0"))
	if err := c.kubelet.Gain(c.ctx, map[int]Fence{1: unfenced}); err != nil {
		t.Fatal(err)
	}
	c.eventually("the pod is ready", func() bool { return isReady(c.pod("web")) })
}

// TestAssignsNodeMissingInList has a list that is older than what the informer has delivered: the
// Node was created between the list and the start of the assignment.
func TestAssignsNodeMissingInList(t *testing.T) {
	c := newClusterWith(t, clientOfNodes(t), clock.NewLedger(), Options{Nodes: 2, ShardOf: shardOf})
	c.eventually("the Nodes are delivered", func() bool { return len(c.kubelet.nodeNames()) == 2 })
	c.client.PrependReactor("list", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, &corev1.NodeList{}, nil
	})
	if err := c.kubelet.StartAssigning(c.ctx, unfenced); err != nil {
		t.Fatal(err)
	}
	if err := c.kubelet.Gain(c.ctx, map[int]Fence{0: unfenced}); err != nil {
		t.Fatal(err)
	}
	c.eventually("the node is simulated", c.isSimulated("node-0"))
}
