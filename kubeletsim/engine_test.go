package kubeletsim

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	k8stesting "k8s.io/client-go/testing"

	"minikcm.dev/minikcm/internal/golden"
	"minikcm.dev/minikcm/kubeletsim/internal/lifecycle"
	"minikcm.dev/minikcm/kubeletsim/internal/nodes"
	"minikcm.dev/minikcm/kubeletsim/internal/podtest"
)

func TestManyPodsGetDifferentAddresses(t *testing.T) {
	c := newCluster(t, Options{Nodes: 2})
	const n = 100
	for i := range n {
		c.create(podtest.Pod(fmt.Sprintf("web-%d", i), fmt.Sprintf("node-%d", i%2)))
	}
	seen := map[string]bool{}
	for i := range n {
		name := fmt.Sprintf("web-%d", i)
		c.until(name+" is ready", func() bool { return isReady(c.pod(name)) })
		ip := c.pod(name).Status.PodIP
		if seen[ip] {
			t.Errorf("%s has %s, as another pod has", name, ip)
		}
		seen[ip] = true
	}
}

// A second run over the same API goes on with the pods that the first left.
func TestTakeOver(t *testing.T) {
	running := podtest.Pod("old", "node-7")
	var lat lifecycle.Latencies
	var backoff lifecycle.Backoff
	backoff.SetDefaults()
	out := lifecycle.Step(lifecycle.Input{
		Pod: running, State: lifecycle.Adopt(running, nil, &lat, &backoff), Now: podtest.Epoch, TakeAddress: podtest.Address("10.244.3.2"),
		HasImage: func(string) bool { return true }, PullError: func(string) string { return "" }, Latencies: &lat, Backoff: &backoff,
	})
	old := running.DeepCopy()
	old.Status = lifecycle.PodStatus(running, &out.State, []string{"172.18.0.2"}, podtest.Epoch)
	old.Status.PodIP, old.Status.PodIPs = "10.244.3.2", []corev1.PodIP{{IP: "10.244.3.2"}}
	ended := podtest.Pod("ended", "node-7", func(pod *corev1.Pod) {
		pod.Status = corev1.PodStatus{Phase: corev1.PodSucceeded, PodIP: "10.244.3.3", StartTime: &metav1.Time{Time: podtest.Epoch}}
	})
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "node-7", Annotations: map[string]string{nodes.AnnotationNode: nodes.Simulated}},
		Spec:       corev1.NodeSpec{PodCIDR: "10.244.3.0/24"},
		Status:     corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "172.18.0.2"}}},
	}
	c := newCluster(t, Options{Nodes: 1}, old, ended, node)
	c.until("the old node is ready", func() bool { return nodeReady(c, "node-7") })
	c.until("the new node is ready", func() bool { return nodeReady(c, "node-0") })
	c.create(podtest.Pod("new", "node-7"))
	c.until("the new pod is ready", func() bool { return isReady(c.pod("new")) })
	if got := c.pod("new").Status.PodIP; got != "10.244.3.3" {
		t.Errorf("new pod has %s, want what the ended one gave back", got)
	}
	if got := c.pod("old").Status; got.PodIP != "10.244.3.2" || got.ContainerStatuses[0].RestartCount != 0 || got.HostIP != "172.18.0.2" {
		t.Errorf("old pod: %+v", got)
	}
	if got := c.node("node-0"); got.Spec.PodCIDR != "10.244.4.0/24" || got.Status.Addresses[0].Address != "172.18.0.3" {
		t.Errorf("new node has %s and %s", got.Spec.PodCIDR, got.Status.Addresses)
	}
}

func TestEvents(t *testing.T) {
	c := newCluster(t, Options{Nodes: 1})
	c.create(podtest.Pod("web", "node-0"))
	c.until("the pod is ready", func() bool { return isReady(c.pod("web")) })
	if err := c.ledger.WaitIdle(c.ctx); err != nil {
		t.Fatal(err)
	}
	list, err := c.client.CoreV1().Events("").List(c.ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortStableFunc(list.Items, func(a, b corev1.Event) int { return strings.Compare(a.Name, b.Name) })
	var got strings.Builder
	for _, e := range list.Items {
		fmt.Fprintf(&got, "%s %s %s %s %s/%s %s: %s\n", e.Namespace, e.InvolvedObject.Kind, e.InvolvedObject.UID, e.InvolvedObject.FieldPath,
			e.Source.Component, e.Source.Host, e.Reason, e.Message)
	}
	golden.Compare(t, "testdata/events.txt", got.String())
}

// A node without a network starts only pods of the host's network.
func TestNodeWithoutNetwork(t *testing.T) {
	c := newCluster(t, Options{Nodes: 1, Node: nodes.Spec{Annotations: map[string]string{"minikcm.dev/ready-delay": "15s"}}})
	c.until("the node is registered", func() bool { return c.node("node-0") != nil })
	host := podtest.Pod("host", "node-0")
	host.Spec.HostNetwork = true
	c.create(host)
	c.create(podtest.Pod("web", "node-0"))
	c.until("the pod of the host's network is ready", func() bool { return isReady(c.pod("host")) })
	c.advance(14 * time.Second)
	if pod := c.pod("web"); pod.Status.Phase != corev1.PodPending || pod.Status.PodIP != "" {
		t.Errorf("the other pod has %+v", pod.Status)
	}
	c.advance(time.Second)
	c.until("the other pod is ready", func() bool { return isReady(c.pod("web")) })
	if err := c.ledger.WaitIdle(c.ctx); err != nil {
		t.Fatal(err)
	}
	list, err := c.client.CoreV1().Events("default").List(c.ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := "network is not ready: container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady " +
		"message:Network plugin returns error: cni plugin not initialized"
	reported := map[string]int32{}
	for _, e := range list.Items {
		if e.Reason == "NetworkNotReady" && e.Message == want && e.Type == corev1.EventTypeWarning {
			reported[e.InvolvedObject.Name] += max(e.Count, 1)
		}
	}
	if len(reported) != 1 || reported["web"] < 2 {
		t.Errorf("the events are %v", reported)
	}
}

func TestStoppedNode(t *testing.T) {
	c := newCluster(t, Options{Nodes: 1})
	c.create(podtest.Pod("web", "node-0", podtest.Annotated("exit-after", "1m")))
	c.until("the pod is ready", func() bool { return isReady(c.pod("web")) })
	if err := c.kubelet.StopNode("node-0"); err != nil {
		t.Fatal(err)
	}
	if err := c.ledger.WaitIdle(c.ctx); err != nil {
		t.Fatal(err)
	}
	before := len(c.client.Actions())
	c.create(podtest.Pod("late", "node-0"))
	c.advance(10 * time.Minute)
	for _, action := range c.client.Actions()[before+1:] {
		t.Errorf("while the node was stopped: %s %s", action.GetVerb(), action.GetResource().Resource)
	}
	if err := c.kubelet.StartNode("node-0"); err != nil {
		t.Fatal(err)
	}
	c.until("the late pod is ready", func() bool { return isReady(c.pod("late")) })
	c.until("the pod has restarted", func() bool { return c.pod("web").Status.ContainerStatuses[0].RestartCount == 1 })
	for _, err := range []error{
		c.kubelet.StopNode("nobody"), c.kubelet.StartNode("nobody"), c.kubelet.AddNode(nodes.Spec{}), c.kubelet.AddNode(nodes.Spec{Name: "node-0"}),
		c.kubelet.CrashContainer(types.NamespacedName{Namespace: "default", Name: "nobody"}, "", 1),
		c.kubelet.CrashContainer(types.NamespacedName{Namespace: "default", Name: "web"}, "nobody", 1),
	} {
		if err == nil {
			t.Error("no error")
		}
	}
}

func TestCrashedNode(t *testing.T) {
	c := newCluster(t, Options{Nodes: 1})
	c.create(podtest.Pod("web", "node-0"))
	c.until("the pod is ready", func() bool { return isReady(c.pod("web")) })
	c.until("the node is ready", func() bool { return nodeReady(c, "node-0") })
	boot := c.node("node-0").Status.NodeInfo.BootID
	if err := c.kubelet.CrashNode("node-0"); err != nil {
		t.Fatal(err)
	}
	c.advance(time.Minute)
	if err := c.kubelet.StartNode("node-0"); err != nil {
		t.Fatal(err)
	}
	c.until("the pod runs again", func() bool {
		return isReady(c.pod("web")) && c.pod("web").Status.ContainerStatuses[0].RestartCount == 1
	})
	last := c.pod("web").Status.ContainerStatuses[0].LastTerminationState.Terminated
	if last == nil || last.ExitCode != 255 || last.Reason != "Unknown" || c.pod("web").Status.PodIP == "10.244.0.2" {
		t.Errorf("after the crash: %+v", c.pod("web").Status)
	}
	c.until("the boot ID has changed", func() bool { return c.node("node-0").Status.NodeInfo.BootID != boot })
}

func TestNodeInTrouble(t *testing.T) {
	c := newCluster(t, Options{Nodes: 1})
	c.until("the node is ready", func() bool { return nodeReady(c, "node-0") })
	for _, trouble := range []bool{true, false} {
		for _, condition := range []corev1.NodeConditionType{corev1.NodeReady, corev1.NodeMemoryPressure} {
			if err := c.kubelet.SetNodeCondition("node-0", condition, trouble); err != nil {
				t.Fatal(err)
			}
		}
		c.until("the node says so", func() bool { return nodeReady(c, "node-0") != trouble })
	}
	if c.kubelet.SetNodeCondition("node-0", corev1.NodeNetworkUnavailable, true) == nil || c.kubelet.SetNodeCondition("nobody", corev1.NodeReady, true) == nil {
		t.Error("no error")
	}
}

func TestNodeDeletedAndStartedAgain(t *testing.T) {
	c := newCluster(t, Options{Nodes: 1})
	c.until("the node is ready", func() bool { return nodeReady(c, "node-0") })
	if err := c.client.CoreV1().Nodes().Delete(c.ctx, "node-0", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.eventually("the machine is gone", func() bool { return len(c.kubelet.Nodes()) == 0 })
	c.advance(time.Hour)
	if c.node("node-0") != nil {
		t.Fatal("the node came back by itself")
	}
	if err := c.kubelet.StartNode("node-0"); err != nil {
		t.Fatal(err)
	}
	c.until("the node is ready again", func() bool { return nodeReady(c, "node-0") })
}

// Pods may be bound to a node before it is there.
func TestNodeAddedAfterItsPods(t *testing.T) {
	c := newCluster(t, Options{})
	c.create(podtest.Pod("web", "node-1"))
	names, err := c.kubelet.AddNodes(2)
	if err != nil || len(names) != 2 || names[1] != "node-1" {
		t.Fatal(names, err)
	}
	c.until("the pod is ready", func() bool { return isReady(c.pod("web")) })
}

// What the API refuses is tried again: on a conflict with what is there by then, on
// other errors later.
func TestWritesThatFail(t *testing.T) {
	c := newCluster(t, Options{Nodes: 1})
	c.until("the node is ready", func() bool { return nodeReady(c, "node-0") })
	var tries atomic.Int32
	c.client.PrependReactor("update", "pods", func(action k8stesting.Action) (bool, runtime.Object, error) {
		switch tries.Add(1) {
		case 1, 3:
			return true, nil, apierrors.NewConflict(corev1.Resource("pods"), "web", errors.New("another client was faster"))
		case 4, 5:
			return true, nil, apierrors.NewTooManyRequests("slow down", 1)
		}
		return false, nil, nil
	})
	c.create(podtest.Pod("web", "node-0", podtest.Annotated("ready-delay", "1s")))
	c.until("the pod runs", func() bool { return c.pod("web").Status.Phase == corev1.PodRunning })
	c.advance(time.Minute)
	if !isReady(c.pod("web")) {
		t.Errorf("after %d tries: %+v", tries.Load(), c.pod("web").Status.Conditions)
	}
}

func TestPodThatIsForceDeleted(t *testing.T) {
	c := newCluster(t, Options{Nodes: 1})
	c.create(podtest.Pod("web", "node-0"))
	c.until("the pod is ready", func() bool { return isReady(c.pod("web")) })
	if err := c.client.CoreV1().Pods("default").Delete(c.ctx, "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.eventually("the pod is forgotten", func() bool { return c.kubelet.pods.get("uid-web") == nil })
}

// A pod waits for its ConfigMap and for the key in its Secret.
func TestPodWaitsForWhatItNeeds(t *testing.T) {
	c := newCluster(t, Options{Nodes: 1})
	c.create(podtest.Pod("web", "node-0", func(pod *corev1.Pod) {
		named := corev1.LocalObjectReference{Name: "settings"}
		pod.Spec.Volumes = []corev1.Volume{{Name: "etc", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: named}}}}
		pod.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: named, Key: "a"}}}}
	}))
	waiting := func(reason string) func() bool {
		return func() bool {
			statuses := c.pod("web").Status.ContainerStatuses
			return len(statuses) > 0 && statuses[0].State.Waiting != nil && statuses[0].State.Waiting.Reason == reason
		}
	}
	c.until("the pod waits for its volume", waiting("ContainerCreating"))
	meta := metav1.ObjectMeta{Namespace: "default", Name: "settings"}
	if _, err := c.client.CoreV1().ConfigMaps("default").Create(c.ctx, &corev1.ConfigMap{ObjectMeta: meta}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.until("the pod waits for its environment", waiting("CreateContainerConfigError"))
	secret := &corev1.Secret{ObjectMeta: meta}
	if _, err := c.client.CoreV1().Secrets("default").Create(c.ctx, secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.until("the key is missed", func() bool {
		return c.pod("web").Status.ContainerStatuses[0].State.Waiting.Message == "couldn't find key a in Secret default/settings"
	})
	secret.Data = map[string][]byte{"a": nil}
	if _, err := c.client.CoreV1().Secrets("default").Update(c.ctx, secret, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.until("the pod is ready", func() bool { return isReady(c.pod("web")) })
}

func nodeReady(c *cluster, name string) bool {
	node := c.node(name)
	if node == nil {
		return false
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}
