package kubeletsim

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	k8stesting "k8s.io/client-go/testing"

	"minikcm.dev/minikcm/kubeletsim/internal/nodes"
	"minikcm.dev/minikcm/kubeletsim/internal/podtest"
)

func (c *cluster) createNode(name, uid string, change ...func(*corev1.Node)) {
	c.t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(uid), Annotations: map[string]string{nodes.AnnotationKwok: "fake"}}}
	for _, f := range change {
		f(node)
	}
	if _, err := c.client.CoreV1().Nodes().Create(c.ctx, node, metav1.CreateOptions{}); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) deleteNode(name string) {
	c.t.Helper()
	if err := c.client.CoreV1().Nodes().Delete(c.ctx, name, metav1.DeleteOptions{}); err != nil {
		c.t.Fatal(err)
	}
}

// A Node that there are no addresses for says so, is left alone, and gets its turn when
// another node goes.
func TestNodeWithoutRoom(t *testing.T) {
	c := newCluster(t, Options{})
	c.createNode("first", "1", func(n *corev1.Node) {
		n.Spec.PodCIDR, n.Spec.PodCIDRs = "10.192.0.0/10", []string{"10.192.0.0/10"} // all addresses for pods
	})
	c.until("the first is ready", func() bool { return nodeReady(c, "first") })
	c.createNode("second", "2")
	message := func() string {
		for _, condition := range c.node("second").Status.Conditions {
			if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionFalse {
				return condition.Message
			}
		}
		return ""
	}
	c.until("the second is refused", func() bool { return message() != "" })
	if !strings.Contains(message(), "at most 16384 nodes can be simulated") {
		t.Errorf("it says %q", message())
	}
	if err := c.ledger.WaitIdle(c.ctx); err != nil {
		t.Fatal(err)
	}
	events, err := c.client.CoreV1().Events("").List(c.ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	reported := 0
	for _, e := range events.Items {
		if e.InvolvedObject.Name == "second" && e.Reason == "CIDRNotAvailable" && e.Count <= 1 {
			reported++
		}
	}
	if reported != 1 {
		t.Errorf("there are %d events", reported)
	}
	before := len(c.client.Actions())
	c.advance(9 * time.Second) // and no heartbeat of the first is due
	for _, action := range c.client.Actions()[before:] {
		t.Errorf("afterwards: %s %s", action.GetVerb(), action.GetResource().Resource)
	}
	c.deleteNode("first")
	c.until("the second is ready", func() bool { return nodeReady(c, "second") })
	if got := c.kubelet.Nodes(); len(got) != 1 {
		t.Errorf("simulated are %v", got)
	}
}

// Of a deleted node and its pods, nothing is left: no timer, no address.
func TestNothingIsLeftOfADeletedNode(t *testing.T) {
	c := newCluster(t, Options{})
	c.createNode("n", "1")
	c.create(podtest.Pod("web", "n", podtest.Annotated("exit-after", "1h")))
	c.until("the pod is ready", func() bool { return isReady(c.pod("web")) })
	if err := c.kubelet.HangNode("n"); err != nil {
		t.Fatal(err)
	}
	if err := c.ledger.WaitIdle(c.ctx); err != nil {
		t.Fatal(err)
	}
	k := c.kubelet
	c.deleteNode("n")
	c.eventually("the timers are gone", func() bool { return k.nodes.Get("n").IsLost() && k.timersLeft() == 0 })
	if err := k.StartNode("n"); !errors.Is(err, ErrNoNode) {
		t.Errorf("StartNode says %v", err)
	}
	if len(k.Nodes()) != 1 {
		t.Error("the node is gone before its pods")
	}
	if err := c.client.CoreV1().Pods("default").Delete(c.ctx, "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.eventually("the node is dropped", func() bool { return len(k.Nodes()) == 0 })
	if err := c.ledger.WaitIdle(c.ctx); err != nil {
		t.Fatal(err)
	}
	if len(k.pods.byNode) != 0 || len(k.pods.byUID) != 0 {
		t.Errorf("left are %v, %v", k.pods.byNode, k.pods.byUID)
	}
	// The hung runtime of the node that is gone is nothing to the next one.
	c.createNode("n", "2")
	c.until("the next is ready", func() bool { return nodeReady(c, "n") })
	c.advance(time.Minute)
	if !nodeReady(c, "n") {
		t.Errorf("the next one hangs: %v", c.node("n").Status.Conditions)
	}
}

func (k *Kubelets) timersLeft() int {
	return k.due.Len() + len(k.loop.pods.Delays()) + len(k.loop.nodes.Delays())
}

// An informer that is late delivers a Node that has been replaced; and one that has lost its
// watch delivers the replacement as an update.
func TestLateNews(t *testing.T) {
	c := newCluster(t, Options{})
	c.createNode("n", "1")
	c.until("the node is ready", func() bool { return nodeReady(c, "n") })
	now, old := c.node("n"), c.node("n")
	n := c.kubelet.nodes.Get("n")
	old.UID = "0"
	c.kubelet.observeNode(old)
	c.eventually("the API has been asked", func() bool { return !n.IsLost() })
	if c.kubelet.nodes.Get("n") != n {
		t.Error("the node was replaced")
	}
	now.UID = "2"
	if _, err := c.client.CoreV1().Nodes().Update(c.ctx, now, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.eventually("the node is replaced", func() bool { return c.kubelet.nodes.Get("n") != n })
	c.advance(time.Minute)
	if !nodeReady(c, "n") || len(c.kubelet.Nodes()) != 1 {
		t.Errorf("it is %v, simulated are %v", c.node("n").Status.Conditions, c.kubelet.Nodes())
	}
}

// A Node that goes while its kubelet registers, and one that cannot be read, leave nothing.
func TestNodeGoneWhileItRegisters(t *testing.T) {
	c := newCluster(t, Options{})
	var tries atomic.Int32
	<-c.kubelet.Begun() // the informers have listed by then: the chain of reactors has no lock
	c.client.PrependReactor("get", "nodes", func(k8stesting.Action) (bool, runtime.Object, error) {
		switch tries.Add(1) {
		case 1:
			return true, nil, errors.New("try again")
		case 3: // the first that its kubelet does
			if err := c.client.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("nodes"), "", "n"); err != nil {
				t.Error(err)
			}
		}
		return false, nil, nil
	})
	c.createNode("n", "1")
	c.eventually("the API refuses", func() bool { return tries.Load() == 1 && c.kubelet.timersLeft() == 1 })
	c.advance(time.Minute)
	if tries.Load() < 3 || len(c.kubelet.Nodes()) != 0 || c.kubelet.timersLeft() != 0 {
		t.Errorf("after %d tries, simulated are %v", tries.Load(), c.kubelet.Nodes())
	}
	c.createNode("n", "2")
	c.until("the next is ready", func() bool { return nodeReady(c, "n") })
}
