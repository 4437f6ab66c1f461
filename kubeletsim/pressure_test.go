package kubeletsim

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/kubeletsim/internal/eviction"
	"minikcm.dev/minikcm/kubeletsim/internal/nodes"
	"minikcm.dev/minikcm/kubeletsim/internal/podtest"
)

func small() nodes.Spec { return nodes.Spec{Capacity: podtest.Resources("memory", "1Gi")} }

func underPressure(c *cluster, name string) bool {
	node := c.node(name)
	if node == nil {
		return false
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeMemoryPressure {
			return condition.Status == corev1.ConditionTrue && condition.Reason == "KubeletHasInsufficientMemory" && condition.Message == "kubelet has insufficient memory available"
		}
	}
	return false
}

func reported(c *cluster, reason string) []string {
	c.t.Helper()
	if err := c.ledger.WaitIdle(c.ctx); err != nil {
		c.t.Fatal(err)
	}
	list, err := c.client.CoreV1().Events("").List(c.ctx, metav1.ListOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	var messages []string
	for _, e := range list.Items {
		if e.Reason == reason {
			messages = append(messages, fmt.Sprintf("%s %s: %s", e.Type, e.InvolvedObject.Name, e.Message))
		}
	}
	slices.Sort(messages)
	return messages
}

func requests(amount string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.Containers[0].Resources.Requests = podtest.Resources("memory", amount) }
}

// TestMemoryPressure: a pod with a leak is evicted when the node runs short of memory, and for five
// minutes the node refuses pods without requests.
func TestMemoryPressure(t *testing.T) {
	c := newCluster(t, Options{Nodes: 1, Node: small()})
	c.create(podtest.Pod("web", "node-0", podtest.Annotated("memory", "500Mi"), requests("500Mi")))
	c.create(podtest.Pod("leak", "node-0", podtest.Annotated("memory", "ramp 0 600Mi 10m")))
	c.until("the pods are ready", func() bool { return isReady(c.pod("web")) && isReady(c.pod("leak")) })
	c.advance(7 * time.Minute)
	if c.pod("leak").Status.Phase != corev1.PodRunning || underPressure(c, "node-0") {
		t.Fatal("evicted too early")
	}
	c.advance(20 * time.Second)
	leak := c.pod("leak").Status
	const message = "The node was low on resource: memory. Threshold quantity: 100Mi, available: "
	if leak.Phase != corev1.PodFailed || leak.Reason != "Evicted" || !strings.HasPrefix(leak.Message, message) || !strings.Contains(leak.Message, "Container app was using ") {
		t.Fatalf("%s %s %q", leak.Phase, leak.Reason, leak.Message)
	}
	disrupted := slices.IndexFunc(leak.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.DisruptionTarget })
	if disrupted < 0 || leak.Conditions[disrupted].Reason != corev1.PodReasonTerminationByKubelet || leak.Conditions[disrupted].Message != leak.Message {
		t.Errorf("%+v", leak.Conditions)
	}
	if !isReady(c.pod("web")) || !underPressure(c, "node-0") {
		t.Errorf("%+v; %+v", c.pod("web").Status, c.node("node-0").Status.Conditions)
	}
	if got := reported(c, "Evicted"); len(got) != 1 || got[0] != "Warning leak: "+leak.Message {
		t.Errorf("%q", got)
	}
	if got := reported(c, "EvictionThresholdMet"); len(got) != 1 || got[0] != "Warning node-0: Attempting to reclaim memory" {
		t.Errorf("%q", got)
	}
	c.create(podtest.Pod("late", "node-0"))
	c.create(podtest.Pod("modest", "node-0", requests("1Mi")))
	c.until("one is refused", func() bool { return c.pod("late").Status.Phase == corev1.PodFailed && isReady(c.pod("modest")) })
	if got := c.pod("late").Status; got.Reason != "Evicted" || got.Message != "Pod was rejected: The node had condition: [MemoryPressure]. " {
		t.Errorf("%+v", got)
	}
	c.advance(6 * time.Minute)
	if underPressure(c, "node-0") {
		t.Error("the pressure lasts")
	}
	c.create(podtest.Pod("later", "node-0"))
	c.until("it is admitted", func() bool { return isReady(c.pod("later")) })
}

// TestExhaustedMemory: the kernel is faster than the kubelet.
func TestExhaustedMemory(t *testing.T) {
	c := newCluster(t, Options{Nodes: 1, Node: small()})
	c.create(podtest.Pod("burst", "node-0", podtest.Annotated("memory", "steps 100Mi 1m2s 2Gi"), podtest.Command("/bin/server")))
	c.create(podtest.Pod("web", "node-0", podtest.Annotated("memory", "100Mi"), requests("200Mi")))
	c.until("the pods are ready", func() bool { return isReady(c.pod("web")) && isReady(c.pod("burst")) })
	c.advance(70 * time.Second)
	last := c.pod("burst").Status.ContainerStatuses[0].LastTerminationState.Terminated
	if last == nil || last.Reason != "OOMKilled" || last.ExitCode != 137 || c.pod("web").Status.ContainerStatuses[0].RestartCount != 0 || underPressure(c, "node-0") {
		t.Errorf("%+v", c.pod("burst").Status.ContainerStatuses)
	}
	if got := reported(c, "SystemOOM"); len(got) != 1 || !strings.HasPrefix(got[0], "Warning node-0: System OOM encountered, victim process: server, pid: ") {
		t.Errorf("%q", got)
	}
}

// TestEvictionConfiguration: a Node's annotation applies at once, and one that cannot be read is
// reported.
func TestEvictionConfiguration(t *testing.T) {
	spec := small()
	spec.Annotations = map[string]string{eviction.AnnotationSoft: "memory.available<1Gi"}
	c := newCluster(t, Options{Nodes: 1, Node: spec})
	c.create(podtest.Pod("web", "node-0", podtest.Annotated("memory", "500Mi")))
	c.until("the pod is ready", func() bool { return isReady(c.pod("web")) })
	c.advance(time.Minute)
	if got := reported(c, "InvalidSimulation"); len(got) != 1 || underPressure(c, "node-0") {
		t.Errorf("%q", got)
	}
	node := c.node("node-0").DeepCopy()
	node.Annotations = map[string]string{eviction.AnnotationHard: "memory.available<60%"}
	node.ResourceVersion = "1000"
	if _, err := c.client.CoreV1().Nodes().Update(c.ctx, node, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.eventually("the kubelet plans a look", func() bool { return c.kubelet.due.Len() == 3 })
	c.advance(eviction.Interval)
	if got := c.pod("web").Status; got.Phase != corev1.PodFailed {
		t.Errorf("%+v", got)
	}
}

// TestPressureAfterRestart: the pressure that an earlier process reported lasts for its period.
func TestPressureAfterRestart(t *testing.T) {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "node-7", Annotations: map[string]string{nodes.AnnotationNode: nodes.Simulated}},
		Spec:       corev1.NodeSpec{PodCIDR: "10.244.3.0/24"},
		Status: corev1.NodeStatus{
			Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "172.18.0.2"}},
			Conditions: []corev1.NodeCondition{{
				Type: corev1.NodeMemoryPressure, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.NewTime(podtest.Epoch),
				Reason: "KubeletHasInsufficientMemory", Message: "kubelet has insufficient memory available",
			}},
		},
	}
	c := newCluster(t, Options{}, node)
	c.until("the node is ready", func() bool { return nodeReady(c, "node-7") })
	c.advance(4 * time.Minute)
	if !underPressure(c, "node-7") {
		t.Error("the pressure was forgotten")
	}
	c.advance(2 * time.Minute)
	if underPressure(c, "node-7") {
		t.Error("the pressure lasts")
	}
}

// TestNoLookWithoutNeed: pods that declare nothing, or cannot exhaust their node, have no alarm.
func TestNoLookWithoutNeed(t *testing.T) {
	c := newCluster(t, Options{Nodes: 1, Node: small()})
	for i := range 20 {
		c.create(podtest.Pod(fmt.Sprintf("web-%d", i), "node-0"))
	}
	c.create(podtest.Pod("declared", "node-0", podtest.Annotated("memory", "sine 10Mi 100Mi 1h")))
	c.until("the pod is ready", func() bool { return isReady(c.pod("declared")) })
	if err := c.ledger.WaitIdle(c.ctx); err != nil {
		t.Fatal(err)
	}
	if n := c.kubelet.nodes.Get("node-0"); !n.Plan.At.IsZero() || n.Policy == nil {
		t.Errorf("%+v", n.Plan)
	}
	if alarms := c.kubelet.due.Len(); alarms != 2 {
		t.Errorf("%d alarms, want those of the node's status and lease", alarms)
	}
}
