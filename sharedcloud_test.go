package minikcm_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
)

// untilNode waits until a Node is as it should be.
func untilNode(ctx context.Context, t *testing.T, client kubernetes.Interface, name string, done func(*corev1.Node) bool) {
	t.Helper()
	w, err := client.CoreV1().Nodes().Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	var last *corev1.Node
	for event := range w.ResultChan() {
		if node, ok := event.Object.(*corev1.Node); ok {
			if last = node; done(node) {
				return
			}
		}
	}
	t.Fatalf("the watch of node %s ended: %v; last it was %+v", name, ctx.Err(), last)
}

func setInstance(ctx context.Context, t *testing.T, client kubernetes.Interface, name, state string) {
	t.Helper()
	patch := []byte(`{"data":{"state":"` + state + `"}}`)
	if _, err := client.CoreV1().ConfigMaps("minikcm-cloud").Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestSharedCloud stops an instance through one of two processes that share an etcd. It stays
// stopped when the process that simulates the machine ends, and starts in the other one.
func TestSharedCloud(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	all := sharers(t, 2, func(o *minikcm.Options) {
		o.Nodes.Cloud, o.Clock.Mode, o.Clock.Speed = "simulated", clock.ModeScaled, 60
	})
	client := all[0].Client()
	for _, name := range []string{"pool-0-0", "pool-1-0", "pool-1-3"} {
		untilNode(ctx, t, client, name, func(node *corev1.Node) bool {
			return node.Spec.ProviderID != "" && len(node.Spec.Taints) == 0
		})
	}
	var names []string
	for pool := range 2 {
		for i := range 4 {
			names = append(names, fmt.Sprintf("pool-%d-%d", pool, i))
		}
	}
	i := slices.IndexFunc(names, all[1].Kubelets().Simulates)
	if i < 0 {
		t.Fatal("the second process simulates none of the nodes")
	}
	name := names[i]
	setInstance(ctx, t, client, name, "stopped")
	isDown := func(node *corev1.Node) bool {
		return slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool {
			return t.Key == "node.cloudprovider.kubernetes.io/shutdown"
		})
	}
	untilNode(ctx, t, client, name, isDown)
	if err := all[1].Close(); err != nil {
		t.Fatal(err)
	}
	setInstance(ctx, t, client, name, "running")
	untilNode(ctx, t, client, name, func(node *corev1.Node) bool { return !isDown(node) && len(node.Spec.Taints) == 0 })
}
