package controllers_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/minikcmtest"
)

const cloudNamespace = "minikcm-cloud"

func newCloud(t *testing.T, options ...minikcmtest.Option) *minikcmtest.Cluster {
	t.Helper()
	return minikcmtest.New(t, append([]minikcmtest.Option{minikcmtest.WithSimulatedCloud(), minikcmtest.WithVirtualTime()}, options...)...)
}

// cloudNode returns a Node; nil if there is none.
func cloudNode(t *testing.T, c *minikcmtest.Cluster, name string) *corev1.Node {
	t.Helper()
	node, err := c.Client().CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return node
}

// cloudInstance returns the ConfigMap of an instance; nil if there is none.
func cloudInstance(t *testing.T, c *minikcmtest.Cluster, name string) *corev1.ConfigMap {
	t.Helper()
	instance, err := c.Client().CoreV1().ConfigMaps(cloudNamespace).Get(t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return instance
}

func setInstance(t *testing.T, c *minikcmtest.Cluster, name, state string) {
	t.Helper()
	patch := []byte(`{"data":{"state":"` + state + `"}}`)
	if _, err := c.Client().CoreV1().ConfigMaps(cloudNamespace).Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

func deleteInstance(t *testing.T, c *minikcmtest.Cluster, name string) {
	t.Helper()
	if err := c.Client().CoreV1().ConfigMaps(cloudNamespace).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

func hasTaint(node *corev1.Node, key string) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key })
}

// nodeEvents returns the messages of the events of a node with a reason.
func nodeEvents(t *testing.T, c *minikcmtest.Cluster, node, reason string) []string {
	t.Helper()
	list, err := c.Client().CoreV1().Events("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var messages []string
	for _, e := range list.Items {
		if e.InvolvedObject.Kind == "Node" && e.InvolvedObject.Name == node && e.Reason == reason {
			messages = append(messages, e.Source.Component+": "+e.Message)
		}
	}
	return messages
}

const (
	shutdownTaint      = "node.cloudprovider.kubernetes.io/shutdown"
	uninitializedTaint = "node.cloudprovider.kubernetes.io/uninitialized"
)

func TestNodesAreInitialized(t *testing.T) {
	t.Parallel()
	c := newCloud(t, minikcmtest.WithNodes(0), minikcmtest.WithOptions(func(o *minikcm.Options) {
		o.Nodes.Pools = []minikcm.Pool{{Name: "a", Count: 2, Zones: []string{"eu-1a", "eu-1b"}, Node: minikcm.NodeSpec{Labels: map[string]string{"topology.kubernetes.io/region": "eu-1"}}}}
	}))
	node, instance := cloudNode(t, c, "a-1"), cloudInstance(t, c, "a-1")
	if node == nil || instance == nil {
		t.Fatal("there is no node, or no instance")
	}
	if hasTaint(node, uninitializedTaint) || node.Spec.ProviderID == "" || node.Spec.ProviderID != instance.Data["providerID"] || !strings.HasPrefix(node.Spec.ProviderID, "simulated:///eu-1b/i-") {
		t.Errorf("spec = %+v, of instance %v", node.Spec, instance.Data)
	}
	for key, want := range map[string]string{
		"topology.kubernetes.io/zone": "eu-1b", "failure-domain.beta.kubernetes.io/zone": "eu-1b", "topology.kubernetes.io/region": "eu-1",
		"node.kubernetes.io/instance-type": "sim.32cpu.256gi",
	} {
		if node.Labels[key] != want {
			t.Errorf("label %s = %q, want %q", key, node.Labels[key], want)
		}
	}
	advance(t, c, 20*time.Second) // the kubelet keeps what the cloud wrote
	node = cloudNode(t, c, "a-1")
	want := []corev1.NodeAddress{{Type: "InternalIP", Address: instance.Data["address"]}, {Type: "InternalDNS", Address: "a-1.eu-1b.internal"}, {Type: "Hostname", Address: "a-1"}}
	if !slices.Equal(node.Status.Addresses, want) {
		t.Errorf("addresses = %v, want %v", node.Status.Addresses, want)
	}
	if got := nodeEvents(t, c, "a-1", "Synced"); !slices.Equal(got, []string{"cloud-node-controller: Node synced successfully"}) {
		t.Errorf("events = %q", got)
	}
}

func TestStoppedInstance(t *testing.T) {
	t.Parallel()
	c := newCloud(t, minikcmtest.WithNodes(2))
	before := cloudNode(t, c, "node-0")
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{NodeName: "node-0", Containers: []corev1.Container{{Name: "c", Image: "nginx"}}}}
	if _, err := c.Client().CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	advance(t, c, time.Minute)
	setInstance(t, c, "node-0", "stopped")
	advance(t, c, 70*time.Second)
	node := cloudNode(t, c, "node-0")
	if node == nil || readyCondition(node).Status != corev1.ConditionUnknown || !hasTaint(node, shutdownTaint) {
		t.Fatalf("after the stop: %+v", node)
	}
	if hasTaint(cloudNode(t, c, "node-1"), shutdownTaint) {
		t.Error("another node is tainted")
	}
	setInstance(t, c, "node-0", "running")
	advance(t, c, 10*time.Second)
	node = cloudNode(t, c, "node-0")
	if readyCondition(node).Status != corev1.ConditionTrue || hasTaint(node, shutdownTaint) || node.UID != before.UID || node.Status.NodeInfo.BootID == before.Status.NodeInfo.BootID {
		t.Errorf("after the start: %+v", node)
	}
	advance(t, c, time.Minute)
	p, err := c.Client().CoreV1().Pods("default").Get(t.Context(), "p", metav1.GetOptions{})
	if err != nil || p.Status.Phase != corev1.PodRunning || p.Status.ContainerStatuses[0].RestartCount != 1 {
		t.Errorf("the pod after the start: %v %v", p.Status, err)
	}
}

func TestDeletedInstance(t *testing.T) {
	t.Parallel()
	c := newCloud(t, minikcmtest.WithNodes(2))
	advance(t, c, time.Minute)
	deleteInstance(t, c, "node-0")
	advance(t, c, 30*time.Second)
	if node := cloudNode(t, c, "node-0"); node == nil || readyCondition(node).Status != corev1.ConditionTrue {
		t.Fatalf("before the node is not ready: %+v", node)
	}
	advance(t, c, 40*time.Second)
	if node := cloudNode(t, c, "node-0"); node != nil {
		t.Fatalf("the node is left: %+v", node)
	}
	want := []string{"cloud-node-lifecycle-controller: Deleting node node-0 because it does not exist in the cloud provider"}
	if got := nodeEvents(t, c, "node-0", "DeletingNode"); !slices.Equal(got, want) {
		t.Errorf("events = %q, want %q", got, want)
	}
	if cloudNode(t, c, "node-1") == nil || cloudInstance(t, c, "node-1") == nil {
		t.Error("another node is gone")
	}
	if err := c.Kubelets().StartNode("node-0"); err != nil {
		t.Fatal(err)
	}
	advance(t, c, 10*time.Second)
	if node, instance := cloudNode(t, c, "node-0"), cloudInstance(t, c, "node-0"); node == nil || instance == nil || node.Spec.ProviderID != instance.Data["providerID"] {
		t.Errorf("after another start: %+v, instance %v", node, instance)
	}
}

// TestDeletedNode deletes a Node, whose machine ends, and with it the instance.
func TestDeletedNode(t *testing.T) {
	t.Parallel()
	c := newCloud(t, minikcmtest.WithNodes(1), minikcmtest.WithOptions(func(o *minikcm.Options) { o.Nodes.Manage = minikcm.ManageAll }))
	if _, err := c.Client().CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "mine"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	advance(t, c, 10*time.Second)
	node, instance := cloudNode(t, c, "mine"), cloudInstance(t, c, "mine")
	if instance == nil || node.Spec.ProviderID != instance.Data["providerID"] || node.Labels["topology.kubernetes.io/zone"] != instance.Data["zone"] || readyCondition(node).Status != corev1.ConditionTrue {
		t.Fatalf("a Node of a client: %+v, instance %v", node, instance)
	}
	if err := c.Client().CoreV1().Nodes().Delete(t.Context(), "mine", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	advance(t, c, 10*time.Second)
	if left := cloudInstance(t, c, "mine"); left != nil {
		t.Errorf("the instance is left: %v", left.Data)
	}
}

// TestNodesOfOtherClouds are left alone, though they are not ready and have no instance.
func TestNodesOfOtherClouds(t *testing.T) {
	t.Parallel()
	c := newCloud(t, minikcmtest.WithNodes(1))
	for name, id := range map[string]string{"other": "aws:///eu-1a/i-1", "unknown": "", "gone": "simulated:///eu-1a/i-1"} {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: id}}
		if _, err := c.Client().CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	advance(t, c, 2*time.Minute)
	if cloudNode(t, c, "other") == nil || cloudNode(t, c, "unknown") == nil {
		t.Error("a node of another cloud is gone")
	}
	if cloudNode(t, c, "gone") != nil {
		t.Error("a node without its instance is left")
	}
}

// cloudRoutes returns the nodes that routes lead to, by destination.
func cloudRoutes(t *testing.T, c *minikcmtest.Cluster) map[string]string {
	t.Helper()
	list, err := c.Client().CoreV1().ConfigMaps(cloudNamespace).List(t.Context(), metav1.ListOptions{LabelSelector: "minikcm.dev/cloud=route"})
	if err != nil {
		t.Fatal(err)
	}
	routes := map[string]string{}
	for _, m := range list.Items {
		routes[m.Data["destinationCIDR"]] = m.Data["node"]
	}
	return routes
}

func networkCondition(node *corev1.Node) corev1.NodeCondition {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeNetworkUnavailable {
			return c
		}
	}
	return corev1.NodeCondition{}
}

func withRoutes(networks minikcm.PodNetworks) minikcmtest.Option {
	networks.Allocate = true
	return minikcmtest.WithOptions(func(o *minikcm.Options) { o.Nodes.PodNetworks = networks })
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	c := newCloud(t, minikcmtest.WithNodes(2), withRoutes(minikcm.PodNetworks{ClusterCIDR: "10.7.0.0/24,fd00:7::/48", IPv4MaskSize: 28, IPv6MaskSize: 60}))
	advance(t, c, 20*time.Second)
	want := map[string]string{}
	for _, node := range nodesOf(t, c) {
		for _, network := range node.Spec.PodCIDRs {
			want[network] = node.Name
		}
		condition := networkCondition(node)
		if condition.Status != corev1.ConditionFalse || condition.Reason != "RouteCreated" || condition.Message != "RouteController created a route" {
			t.Errorf("node %s: %+v", node.Name, condition)
		}
	}
	if got := cloudRoutes(t, c); len(got) != 4 || !maps.Equal(got, want) {
		t.Fatalf("routes = %v, want %v", got, want)
	}
	deleteInstance(t, c, "node-0")
	advance(t, c, 2*time.Minute)
	got := cloudRoutes(t, c)
	maps.DeleteFunc(want, func(_, node string) bool { return node == "node-0" })
	if len(got) != 2 || !maps.Equal(got, want) {
		t.Errorf("after the instance is gone, routes = %v, want %v", got, want)
	}
	for destination := range got { // a deleted route comes back
		if err := c.Client().CoreV1().ConfigMaps(cloudNamespace).Delete(t.Context(), "route-"+strings.NewReplacer(".", "-", ":", "-", "/", "-").Replace(destination), metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	advance(t, c, 20*time.Second)
	if got := cloudRoutes(t, c); !maps.Equal(got, want) {
		t.Errorf("after the deletion of routes, they are %v, want %v", got, want)
	}
}

// TestRouteQuota gives one of two nodes no route, until the quota is higher.
func TestRouteQuota(t *testing.T) {
	t.Parallel()
	c := newCloud(t, minikcmtest.WithNodes(1), withRoutes(minikcm.PodNetworks{ClusterCIDR: "10.7.0.0/16"}))
	quotas := c.Client().CoreV1().ConfigMaps(cloudNamespace)
	quota := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "quotas"}, Data: map[string]string{"routes": "1"}}
	if _, err := quotas.Create(t.Context(), quota, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	advance(t, c, 20*time.Second)
	if _, err := c.Kubelets().AddNodes(1); err != nil {
		t.Fatal(err)
	}
	advance(t, c, 20*time.Second)
	node := cloudNode(t, c, "node-1")
	condition := networkCondition(node)
	if condition.Status != corev1.ConditionTrue || condition.Reason != "NoRouteCreated" || condition.Message != "RouteController failed to create a route" || !hasTaint(node, corev1.TaintNodeNetworkUnavailable) {
		t.Errorf("the node without a route: %+v %+v", condition, node.Spec.Taints)
	}
	failed := nodeEvents(t, c, "node-1", "FailedToCreateRoute")
	want := "route_controller: Could not create route " + string(node.UID) + " " + node.Spec.PodCIDR + " for node node-1 after 0s: RouteLimitExceeded: the quota is 1 routes (ConfigMap minikcm-cloud/quotas)"
	if len(failed) != 1 || failed[0] != want {
		t.Errorf("events = %q, want %q", failed, want)
	}
	if networkCondition(cloudNode(t, c, "node-0")).Status != corev1.ConditionFalse {
		t.Error("the node with a route has none any more")
	}
	quota.Data["routes"] = "2"
	if _, err := quotas.Update(t.Context(), quota, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	advance(t, c, 20*time.Second)
	node = cloudNode(t, c, "node-1")
	if networkCondition(node).Reason != "RouteCreated" || hasTaint(node, corev1.TaintNodeNetworkUnavailable) {
		t.Errorf("with a higher quota: %+v %+v", networkCondition(node), node.Spec.Taints)
	}
}

// TestCloudAfterARestart restarts a process while an instance is stopped and another one is gone.
func TestCloudAfterARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	start := func() *minikcmtest.Cluster {
		return newCloud(t, minikcmtest.WithNodes(3), minikcmtest.WithOptions(func(o *minikcm.Options) { o.Storage.DataDir = dir }))
	}
	c := start()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{NodeName: "node-0", Containers: []corev1.Container{{Name: "c", Image: "nginx"}}}}
	if _, err := c.Client().CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	advance(t, c, time.Minute)
	setInstance(t, c, "node-0", "stopped")
	deleteInstance(t, c, "node-1")
	id := cloudInstance(t, c, "node-2").Data["providerID"]
	advance(t, c, 20*time.Second)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	c = start()
	advance(t, c, 2*time.Minute)
	if node := cloudNode(t, c, "node-0"); readyCondition(node).Status != corev1.ConditionUnknown || !hasTaint(node, shutdownTaint) {
		t.Errorf("the node of the stopped instance: %+v %+v", readyCondition(node), node.Spec.Taints)
	}
	if cloudNode(t, c, "node-1") != nil || cloudInstance(t, c, "node-1") != nil {
		t.Error("the node of the deleted instance is left")
	}
	if node := cloudNode(t, c, "node-2"); readyCondition(node).Status != corev1.ConditionTrue || node.Spec.ProviderID != id || cloudInstance(t, c, "node-2").Data["providerID"] != id {
		t.Errorf("the node of the running instance: %+v", node)
	}
	setInstance(t, c, "node-0", "running")
	advance(t, c, time.Minute)
	if node := cloudNode(t, c, "node-0"); readyCondition(node).Status != corev1.ConditionTrue || hasTaint(node, shutdownTaint) {
		t.Errorf("after the start: %+v", node)
	}
}
