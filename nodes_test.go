package minikcm_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/minikcmtest"
)

// withManaged is a cluster in virtual time that simulates Nodes as the options say.
func withManaged(t *testing.T, nodes int, manage minikcm.ManageNodes) *minikcmtest.Cluster {
	t.Helper()
	return minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithNodes(nodes),
		minikcmtest.WithOptions(func(o *minikcm.Options) { o.Nodes.Manage = manage }))
}

func makeNode(t *testing.T, client kubernetes.Interface, node *corev1.Node) *corev1.Node {
	t.Helper()
	made, err := client.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func bareNode(name string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func deleteNode(t *testing.T, client kubernetes.Interface, name string) {
	t.Helper()
	if err := client.CoreV1().Nodes().Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

func nodeOf(t *testing.T, client kubernetes.Interface, name string) *corev1.Node {
	t.Helper()
	node, err := client.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return node
}

func readyStatus(node *corev1.Node) corev1.ConditionStatus {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status
		}
	}
	return ""
}

func isReadyNode(name string) func(context.Context, kubernetes.Interface) error {
	return func(ctx context.Context, client kubernetes.Interface) error {
		node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err == nil && (readyStatus(node) != corev1.ConditionTrue || len(node.Spec.Taints) > 0) {
			err = fmt.Errorf("conditions %v, taints %v", node.Status.Conditions, node.Spec.Taints)
		}
		return err
	}
}

// running wants that many pods, all Running on the node, without restarts.
func running(pods int, node string) func(context.Context, kubernetes.Interface) error {
	return func(ctx context.Context, client kubernetes.Interface) error {
		list, err := client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		n := 0
		for i := range list.Items {
			p := &list.Items[i]
			if p.Status.Phase == corev1.PodRunning && p.Spec.NodeName == node && p.Status.ContainerStatuses[0].RestartCount == 0 {
				n++
			}
		}
		if n != pods || len(list.Items) != pods {
			return fmt.Errorf("%d of %d pods run on %s", n, len(list.Items), node)
		}
		return nil
	}
}

// A Node that a client makes is simulated until the client deletes it, and one of the same
// name afterwards.
func TestManagedNode(t *testing.T) {
	t.Parallel()
	c := withManaged(t, 0, minikcm.ManageAll)
	client := c.Client()
	for range 2 {
		makeNode(t, client, bareNode("bare"))
		c.Eventually("the node to be ready", isReadyNode("bare"))
		checkBareNode(t, nodeOf(t, client, "bare"))
		if got := c.Kubelets().Nodes(); len(got) != 1 {
			t.Errorf("simulated are %v", got)
		}
		createWeb(t, client, 3)
		c.Eventually("the pods to run", running(3, "bare"))
		advance(t, c.Cluster, 10*time.Minute)
		if got := readyStatus(nodeOf(t, client, "bare")); got != corev1.ConditionTrue {
			t.Errorf("after ten minutes, Ready is %s", got)
		}
		lease, err := client.CoordinationV1().Leases("kube-node-lease").Get(t.Context(), "bare", metav1.GetOptions{})
		if err != nil || c.Clock().Since(lease.Spec.RenewTime.Time) > 20*time.Second {
			t.Errorf("the lease is %v, %v", lease, err)
		}
		deleteNode(t, client, "bare")
		if err := client.AppsV1().Deployments("default").Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		c.Eventually("the pods to be collected", running(0, ""))
		advance(t, c.Cluster, time.Hour)
		if got := c.Kubelets().Nodes(); len(got) != 0 {
			t.Errorf("still simulated are %v", got)
		}
	}
}

func checkBareNode(t *testing.T, node *corev1.Node) {
	t.Helper()
	status := &node.Status
	if node.Spec.PodCIDR == "" || len(status.Addresses) != 2 || status.NodeInfo.KubeletVersion == "" || len(status.Conditions) != 4 {
		t.Errorf("the node is %+v", node)
	}
	if status.Capacity.Cpu().String() != "32" || !status.Allocatable.Memory().Equal(*status.Capacity.Memory()) {
		t.Errorf("capacity %v, allocatable %v", status.Capacity, status.Allocatable)
	}
	if node.Labels[corev1.LabelHostname] != node.Name || node.Labels[corev1.LabelOSStable] != "linux" {
		t.Errorf("labels %v", node.Labels)
	}
}

// Pods that are Terminating when their node goes are collected with the others.
func TestNoPodHangsOnADeletedNode(t *testing.T) {
	t.Parallel()
	c := withManaged(t, 0, minikcm.ManageAll)
	client := c.Client()
	makeNode(t, client, bareNode("bare"))
	pods := client.CoreV1().Pods("default")
	_, err := pods.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "slow", Annotations: map[string]string{"minikcm.dev/stop-delay": "1h"}},
		Spec:       corev1.PodSpec{TerminationGracePeriodSeconds: new(int64(7200)), Containers: []corev1.Container{{Name: "c", Image: "nginx"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c.Eventually("the pod to run", running(1, "bare"))
	if err := pods.Delete(t.Context(), "slow", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	advance(t, c.Cluster, time.Minute)
	deleteNode(t, client, "bare")
	start := c.Clock().Now()
	c.Eventually("the pod to be collected", running(0, ""))
	if took := c.Clock().Since(start); took > time.Minute {
		t.Errorf("it took %v", took)
	}
}

// Pods that are bound to a node continue to run when its Node is replaced.
func TestReplacedNode(t *testing.T) {
	t.Parallel()
	c := withManaged(t, 0, minikcm.ManageAll)
	client := c.Client()
	makeNode(t, client, bareNode("bare"))
	createWeb(t, client, 3)
	c.Eventually("the pods to run", running(3, "bare"))
	before, podRange := podsOf(t, client), nodeOf(t, client, "bare").Spec.PodCIDR
	deleteNode(t, client, "bare")
	bigger := bareNode("bare")
	bigger.Status.Capacity = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("64")}
	makeNode(t, client, bigger)
	c.Eventually("the node to be ready", isReadyNode("bare"))
	advance(t, c.Cluster, 10*time.Minute)
	if diff := cmp.Diff(before, podsOf(t, client)); diff != "" {
		t.Errorf("the pods differ (-before +after):\n%s", diff)
	}
	node := nodeOf(t, client, "bare")
	if node.Status.Capacity.Cpu().String() != "64" || node.Spec.PodCIDR != podRange {
		t.Errorf("the node has %v and %s, want the range %s", node.Status.Capacity, node.Spec.PodCIDR, podRange)
	}
	scaleWeb(t, client, 6)
	c.Eventually("more pods to run", running(6, "bare"))
	addresses := map[string]bool{}
	for _, status := range podsOf(t, client) {
		addresses[status.PodIP] = true
	}
	if len(addresses) != 6 {
		t.Errorf("the addresses are %v", addresses)
	}
}

// The containers of a machine that went down with its Node have ended when there is another.
func TestReplacedNodeThatCrashed(t *testing.T) {
	t.Parallel()
	c := withManaged(t, 0, minikcm.ManageAll)
	makeNode(t, c.Client(), bareNode("bare"))
	createWeb(t, c.Client(), 1)
	c.Eventually("the pod to run", running(1, "bare"))
	if err := c.Kubelets().CrashNode("bare"); err != nil {
		t.Fatal(err)
	}
	deleteNode(t, c.Client(), "bare")
	advance(t, c.Cluster, time.Second)
	makeNode(t, c.Client(), bareNode("bare"))
	advance(t, c.Cluster, time.Minute)
	for name, status := range podsOf(t, c.Client()) {
		if status.Phase != corev1.PodRunning || status.ContainerStatuses[0].RestartCount != 1 {
			t.Errorf("%s: %+v", name, status)
		}
	}
}

func scaleWeb(t *testing.T, client kubernetes.Interface, replicas int32) {
	t.Helper()
	scale, err := client.AppsV1().Deployments("default").GetScale(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	scale.Spec.Replicas = replicas
	if _, err := client.AppsV1().Deployments("default").UpdateScale(t.Context(), "web", scale, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// Which Nodes are simulated is up to the options, and to the Node's annotations.
func TestManageNodes(t *testing.T) {
	t.Parallel()
	for manage, want := range map[minikcm.ManageNodes]string{
		"": "kwok marked", minikcm.ManageMarked: "kwok marked", minikcm.ManageAll: "bare kwok marked", minikcm.ManageNone: "",
	} {
		t.Run(string(manage), func(t *testing.T) {
			t.Parallel()
			c := withManaged(t, 1, manage)
			kwok, marked := bareNode("kwok"), bareNode("marked")
			kwok.Annotations = map[string]string{"kwok.x-k8s.io/node": "fake"}
			marked.Annotations = map[string]string{"minikcm.dev/node": "simulated"}
			for _, node := range []*corev1.Node{bareNode("bare"), kwok, marked} {
				makeNode(t, c.Client(), node)
			}
			advance(t, c.Cluster, 10*time.Second)
			var ready []string
			for _, name := range []string{"bare", "kwok", "marked"} {
				if readyStatus(nodeOf(t, c.Client(), name)) == corev1.ConditionTrue {
					ready = append(ready, name)
				}
			}
			if got := strings.Join(ready, " "); got != want {
				t.Errorf("ready are %q, want %q", got, want)
			}
		})
	}
}

// A Node that is marked later is simulated from then on.
func TestNodeMarkedLater(t *testing.T) {
	t.Parallel()
	c := withManaged(t, 0, minikcm.ManageMarked)
	makeNode(t, c.Client(), bareNode("late"))
	advance(t, c.Cluster, 2*time.Minute)
	node := nodeOf(t, c.Client(), "late")
	if got := readyStatus(node); got != corev1.ConditionUnknown {
		t.Errorf("Ready is %s", got)
	}
	metav1.SetMetaDataAnnotation(&node.ObjectMeta, "kwok.x-k8s.io/node", "fake")
	if _, err := c.Client().CoreV1().Nodes().Update(t.Context(), node, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Eventually("the node to be ready", isReadyNode("late"))
}

// A node that the options ask for comes back with its machine when a client deletes its
// Node and makes it anew.
func TestOwnNodeMadeAnew(t *testing.T) {
	t.Parallel()
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithOptions(func(o *minikcm.Options) {
		o.Nodes.Manage = minikcm.ManageAll
		o.Nodes.Spec.Capacity = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("5")}
	}))
	before := nodeOf(t, c.Client(), "node-0")
	deleteNode(t, c.Client(), "node-0")
	advance(t, c.Cluster, time.Hour)
	if _, err := c.Client().CoreV1().Nodes().Get(t.Context(), "node-0", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the node came back by itself: %v", err)
	}
	if names, err := c.Kubelets().AddNodes(1); err != nil || names[0] != "node-1" {
		t.Errorf("another node is %v, %v", names, err)
	}
	makeNode(t, c.Client(), bareNode("node-0"))
	c.Eventually("the node to be ready", isReadyNode("node-0"))
	after := nodeOf(t, c.Client(), "node-0")
	if after.Status.Capacity.Cpu().String() != "5" || after.Spec.PodCIDR == before.Spec.PodCIDR {
		t.Errorf("it has %s and %v", after.Spec.PodCIDR, after.Status.Capacity)
	}
	deleteNode(t, c.Client(), "node-0")
	advance(t, c.Cluster, time.Minute)
	if err := c.Kubelets().StartNode("node-0"); err != nil {
		t.Error(err)
	}
	c.Eventually("the node to be ready again", isReadyNode("node-0"))
}

// A new process takes managed nodes over, with the pods that run on them.
func TestManagedNodeOverRestart(t *testing.T) {
	t.Parallel()
	opts := minikcm.Options{
		Storage: minikcm.StorageOptions{DataDir: filepath.Join(t.TempDir(), "data")},
		Nodes:   minikcm.NodeOptions{Count: -1, Manage: minikcm.ManageAll},
		Clock:   minikcm.ClockOptions{Mode: clock.ModeVirtual},
		Seed:    1,
		API:     minikcm.APIOptions{NoHTTPS: true},
	}
	first := start(t, opts)
	node := bareNode("bare")
	node.Status.NodeInfo.KubeletVersion = "fake"
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeExternalIP, Address: "203.0.113.7"}}
	makeNode(t, first.Client(), node)
	createWeb(t, first.Client(), 3)
	advance(t, first, 10*time.Minute)
	before, status := podsOf(t, first.Client()), nodeOf(t, first.Client(), "bare").Status
	if len(before) != 3 || status.NodeInfo.KubeletVersion != "fake" || len(status.Addresses) != 3 {
		t.Fatalf("%d pods, status %+v", len(before), status)
	}
	opts.Clock.Start = first.Clock().Now().Add(time.Hour)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again := start(t, opts)
	advance(t, again, 20*time.Minute)
	if diff := cmp.Diff(before, podsOf(t, again.Client())); diff != "" {
		t.Errorf("the pods differ (-before +after):\n%s", diff)
	}
	after := nodeOf(t, again.Client(), "bare").Status
	for i := range after.Conditions {
		after.Conditions[i].LastHeartbeatTime, after.Conditions[i].LastTransitionTime = metav1.Time{}, metav1.Time{}
		status.Conditions[i].LastHeartbeatTime, status.Conditions[i].LastTransitionTime = metav1.Time{}, metav1.Time{}
	}
	if diff := cmp.Diff(status, after); diff != "" {
		t.Errorf("the node's status differs (-before +after):\n%s", diff)
	}
}

// A Node that comes with a pressure stays under it: no pod is sent there.
func TestNodeUnderPressure(t *testing.T) {
	t.Parallel()
	c := withManaged(t, 0, minikcm.ManageAll)
	node := bareNode("full")
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeDiskPressure, Status: corev1.ConditionTrue}, {Type: corev1.NodeReady, Status: corev1.ConditionFalse}}
	makeNode(t, c.Client(), node)
	c.Eventually("the node to be Ready, and tainted", func(ctx context.Context, client kubernetes.Interface) error {
		node, err := client.CoreV1().Nodes().Get(ctx, "full", metav1.GetOptions{})
		if err == nil && (readyStatus(node) != corev1.ConditionTrue || len(node.Spec.Taints) != 1 || node.Spec.Taints[0].Key != corev1.TaintNodeDiskPressure) {
			err = fmt.Errorf("conditions %v, taints %v", node.Status.Conditions, node.Spec.Taints)
		}
		return err
	})
}
