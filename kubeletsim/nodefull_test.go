package kubeletsim

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	k8stesting "k8s.io/client-go/testing"

	"minikcm.dev/minikcm/kubeletsim/internal/nodes"
	"minikcm.dev/minikcm/kubeletsim/internal/podtest"
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

// The resources of a pod that has ended are free when its status says that it has: the
// scheduler may bind the next pod at once.
func TestResourcesAreFreeWhenTheStatusSaysSo(t *testing.T) {
	c := newCluster(t, Options{Nodes: 1})
	whole := func(pod *corev1.Pod) {
		pod.Spec.Containers[0].Resources.Requests = c.node("node-0").Status.Allocatable.DeepCopy()
		delete(pod.Spec.Containers[0].Resources.Requests, corev1.ResourcePods)
	}
	c.until("the node is ready", func() bool { return nodeReady(c, "node-0") })
	next := podtest.Pod("next", "node-0", whole)
	rejected := make(chan string, 1)
	c.client.PrependReactor("update", "pods", func(action k8stesting.Action) (bool, runtime.Object, error) {
		if pod := action.(k8stesting.UpdateAction).GetObject().(*corev1.Pod); pod.Status.Phase == corev1.PodSucceeded {
			select {
			case rejected <- c.kubelet.nodes.Get("node-0").Admit(next, nil, false).Reason:
			default:
			}
		}
		return false, nil, nil
	})
	c.create(podtest.Pod("first", "node-0", whole, podtest.Policy(corev1.RestartPolicyNever), podtest.Annotated("exit-after", "1m")))
	c.until("the pod is ready", func() bool { return isReady(c.pod("first")) })
	c.advance(2 * time.Minute)
	select {
	case reason := <-rejected:
		if reason != "" {
			t.Errorf("the next pod is rejected: %s", reason)
		}
	case <-c.ctx.Done():
		t.Error("the pod does not end")
	}
}
