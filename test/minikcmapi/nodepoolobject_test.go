package minikcmapi

import (
	"context"
	"fmt"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/viewapi"
	"minikcm.dev/minikcm/minikcmtest"
)

const poolSpec = `{nodes: 3, zones: [a, b], labels: {tier: web}, taints: [{key: web, value: "yes", effect: NoSchedule}], capacity: {cpu: 4, memory: 16Gi}, kubeletVersion: v1.36.1}`

// poolCluster has the nodes node-0 and node-1, and serves NodePools.
func poolCluster(t *testing.T) *minikcmtest.Cluster {
	t.Helper()
	return minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithNodes(2), minikcmtest.WithOptions(func(o *minikcm.Options) {
		o.Nodes.Manage = minikcm.ManageAll
		o.API.Extensions = []minikcm.Extension{viewapi.Extension()}
	}))
}

// readyNodes wants that many nodes of a pool, all of them Ready.
func readyNodes(count int64) func(*unstructured.Unstructured) bool {
	return func(o *unstructured.Unstructured) bool {
		nodes, _, _ := unstructured.NestedInt64(o.Object, "status", "nodes")
		ready, _, _ := unstructured.NestedInt64(o.Object, "status", "readyNodes")
		wanted, _, _ := unstructured.NestedInt64(o.Object, "spec", "nodes")
		return nodes == count && ready == count && wanted == count
	}
}

// TestNodePoolObject: a NodePool makes its nodes, follows the Nodes that there are, and is scaled like a Deployment.
func TestNodePoolObject(t *testing.T) {
	t.Parallel()
	cluster := poolCluster(t)
	pools := kindClient(t, cluster.Cluster, "nodepools")
	until(t, pools, "node", readyNodes(2))

	create(t, pools, objectOf(t, "NodePool", "web", poolSpec))
	until(t, pools, "web", readyNodes(3))
	node, err := cluster.Client().CoreV1().Nodes().Get(t.Context(), "web-1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if node.Labels["tier"] != "web" || node.Labels[corev1.LabelTopologyZone] != "b" || len(node.Spec.Taints) != 1 || node.Status.Capacity.Cpu().String() != "4" || node.Status.NodeInfo.KubeletVersion != "v1.36.1" {
		t.Errorf("web-1 has the labels %v, the taints %v, the capacity %v and the version %s", node.Labels, node.Spec.Taints, node.Status.Capacity, node.Status.NodeInfo.KubeletVersion)
	}

	scale := &unstructured.Unstructured{Object: map[string]any{"apiVersion": autoscalingv1.SchemeGroupVersion.String(), "kind": "Scale", "metadata": map[string]any{"name": "web"}, "spec": map[string]any{"replicas": int64(5)}}}
	if _, err := pools.Update(t.Context(), scale, metav1.UpdateOptions{}, "scale"); err != nil {
		t.Fatal(err)
	}
	until(t, pools, "web", readyNodes(5))
	if _, err := pools.Patch(t.Context(), "web", types.MergePatchType, []byte(`{"spec":{"nodes":1}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	until(t, pools, "web", readyNodes(1))
	if _, err := cluster.Client().CoreV1().Nodes().Get(t.Context(), "web-0", metav1.GetOptions{}); err != nil {
		t.Errorf("the first node: %v", err)
	}

	// Nodes of other clients count, and are a pool of their own if they have another name.
	for _, name := range []string{"web-7", "big-0"} {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"size": "big"}}}
		if _, err := cluster.Client().CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	until(t, pools, "web", readyNodes(2))
	until(t, pools, "big", readyNodes(1))
	if _, err := pools.Patch(t.Context(), "big", types.MergePatchType, []byte(`{"spec":{"nodes":2}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	until(t, pools, "big", readyNodes(2))
	if node, err := cluster.Client().CoreV1().Nodes().Get(t.Context(), "big-1", metav1.GetOptions{}); err != nil || node.Labels["size"] != "big" {
		t.Errorf("big-1: %v, %v", node.Labels, err)
	}

	if err := pools.Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually("the nodes of the pool to be gone", func(ctx context.Context, client kubernetes.Interface) error {
		list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: "tier=web"})
		if err == nil && len(list.Items) > 0 {
			err = fmt.Errorf("%d are there", len(list.Items))
		}
		return err
	})
	if _, err := pools.Get(t.Context(), "web", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the pool after its deletion: %v", err)
	}
}

// TestBadNodePools: what cannot be is refused with its field, also by a dry run, and changes nothing.
func TestBadNodePools(t *testing.T) {
	t.Parallel()
	cluster := poolCluster(t)
	pools := kindClient(t, cluster.Cluster, "nodepools")
	create(t, pools, objectOf(t, "NodePool", "web", "{nodes: 1}"))
	for _, dryRun := range [][]string{nil, {metav1.DryRunAll}} {
		for spec, field := range map[string]string{
			"{nodes: -1}":                  "spec.nodes",
			"{nodes: 20000}":               "spec.nodes",
			"{nodes: many}":                "spec.nodes",
			"{capacity: {cpu: many}}":      "spec.capacity.cpu",
			"{zones: ['a b']}":             "spec.zones[0]",
			"{taints: [{effect: NoRun}]}":  "spec.taints[0].effect",
			"{readyDelay: soon}":           "spec.readyDelay",
			"{devices: [{driver: 'a b'}]}": "spec.devices[0].driver",
		} {
			_, err := pools.Create(t.Context(), objectOf(t, "NodePool", "bad", spec), metav1.CreateOptions{DryRun: dryRun})
			if !apierrors.IsInvalid(err) || !hasCause(err, field) {
				t.Errorf("%s %v: %v", spec, dryRun, err)
			}
		}
		_, err := pools.Patch(t.Context(), "web", types.MergePatchType, []byte(`{"spec":{"nodes":2,"capacity":{"cpu":"4"},"zones":["a"]}}`), metav1.PatchOptions{DryRun: dryRun})
		if !apierrors.IsInvalid(err) || !hasCause(err, "spec.capacity") || !hasCause(err, "spec.zones") {
			t.Errorf("another capacity: %v", err)
		}
	}
	list, err := cluster.Client().CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 3 {
		t.Errorf("%d nodes, %v", len(list.Items), err)
	}
}
