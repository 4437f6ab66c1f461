package kubeletsim

import (
	"context"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/kubeletsim/podtest"
)

// TestGainSeesPodOfHeldShard has an informer that is behind the list of Gain: the list shows a pod
// of a node that this process already simulates, and the informer's later event is no news.
func TestGainSeesPodOfHeldShard(t *testing.T) {
	unfenced := func(ctx context.Context) context.Context { return ctx }
	client := fake.NewClientset()
	client.PrependWatchReactor("pods", func(clienttesting.Action) (bool, watch.Interface, error) {
		return true, watch.NewFake(), nil // it never delivers anything
	})
	c := newClusterWith(t, client, clock.NewLedger(), Options{Nodes: 2, ShardOf: func(node string) int {
		return strings.Index("01", strings.TrimPrefix(node, "node-"))
	}})
	if err := c.kubelet.StartAssigning(c.ctx, unfenced); err != nil {
		t.Fatal(err)
	}
	if err := c.kubelet.Gain(c.ctx, map[int]Fence{0: unfenced}); err != nil {
		t.Fatal(err)
	}
	c.eventually("node-0 is simulated", func() bool { n := c.kubelet.nodes.Get("node-0"); return n != nil && n.Active() })
	c.create(podtest.Pod("web", "node-0"))
	if err := c.kubelet.Gain(c.ctx, map[int]Fence{1: unfenced}); err != nil {
		t.Fatal(err)
	}
	c.eventually("the pod is ready", func() bool { return isReady(c.pod("web")) })
}
