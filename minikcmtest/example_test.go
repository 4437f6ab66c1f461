package minikcmtest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm/minikcmtest"
)

// runOperator stands for an operator: it labels every node. A real operator creates its
// manager or its informers from the same *rest.Config.
func runOperator(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	watcher, err := client.CoreV1().Nodes().Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	defer watcher.Stop()
	for ev := range watcher.ResultChan() {
		node, isNode := ev.Object.(*corev1.Node)
		if !isNode || node.Labels["garden"] != "" {
			continue
		}
		patch := []byte(`{"metadata":{"labels":{"garden":"rose"}}}`)
		if _, err := client.CoreV1().Nodes().Patch(ctx, node.Name, "application/merge-patch+json", patch, metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// testOperator tests the operator: it starts a cluster, runs the operator against it, and
// waits for the state that the operator should reach.
func testOperator(t *testing.T) {
	c := minikcmtest.New(t, minikcmtest.WithNodes(2))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- runOperator(ctx, c.ConfigFor("system:serviceaccount:garden:operator", "system:masters"))
	}()
	c.Eventually("every node to be labelled", func(ctx context.Context, client kubernetes.Interface) error {
		nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, node := range nodes.Items {
			if node.Labels["garden"] != "rose" {
				return fmt.Errorf("node %s has the labels %v", node.Name, node.Labels)
			}
		}
		return nil
	})
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the operator ended with %v", err)
	}
}

// testNodeLoss simulates minutes in milliseconds: virtual time stands still until the test
// advances it.
func testNodeLoss(t *testing.T) {
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithNodes(3))
	if err := c.Kubelets().StopNode("node-0"); err != nil {
		t.Fatal(err)
	}
	if err := c.Advance(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	node, err := c.Client().CoreV1().Nodes().Get(t.Context(), "node-0", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady && condition.Status != corev1.ConditionUnknown {
			t.Errorf("a minute after its loss, the node is Ready: %s", condition.Status)
		}
	}
}

// The test of an operator. In a test file, the two functions are named TestOperator and
// TestNodeLoss, and go test runs them.
func Example() {
	var t *testing.T
	testOperator(t)
	testNodeLoss(t)
}
