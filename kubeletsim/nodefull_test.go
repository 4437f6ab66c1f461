package kubeletsim

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/kubeletsim/nodes"
	"minikcm.dev/minikcm/kubeletsim/podtest"
)

// A node takes what fits, and more when something has ended.
func TestNodeThatIsFull(t *testing.T) {
	c := newCluster(t, Options{Nodes: 1, Node: nodes.Spec{Capacity: podtest.Resources("pods", "1")}})
	c.create(podtest.Pod("first", "node-0"))
	c.until("the first pod is ready", func() bool { return isReady(c.pod("first")) })
	c.create(podtest.Pod("second", "node-0"))
	c.until("the second pod is rejected", func() bool { return c.pod("second").Status.Phase == corev1.PodFailed })
	if got := c.pod("second").Status; got.Reason != "OutOfpods" ||
		got.Message != "Pod was rejected: Node didn't have enough resource: pods, requested: 1, used: 1, capacity: 1" {
		t.Errorf("second pod: %+v", got)
	}
	if err := c.client.CoreV1().Pods("default").Delete(c.ctx, "first", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.eventually("the first pod is forgotten", func() bool { return c.kubelet.pods.get("uid-first") == nil })
	if err := c.ledger.WaitIdle(c.ctx); err != nil {
		t.Fatal(err)
	}
	c.create(podtest.Pod("third", "node-0"))
	c.until("the third pod is ready", func() bool { return isReady(c.pod("third")) })
}
