package fault

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm"
)

func inCloud(o *minikcm.Options) { o.Nodes.Cloud = "simulated" }

func TestStoppedInstances(t *testing.T) {
	t.Parallel()
	b := newBenchWith(t, inCloud)
	wait := b.begin(t.Context(), read(t, "{nodes: {action: stopInstance, names: [node-1]}, for: 3m}"))
	b.advance(2 * time.Minute)
	node, err := b.client.CoreV1().Nodes().Get(t.Context(), "node-1", metav1.GetOptions{})
	if err != nil || !strings.Contains(taintKeys(node), "node.cloudprovider.kubernetes.io/shutdown") {
		t.Errorf("meanwhile: %v %v", node, err)
	}
	if err := wait(); err != nil {
		t.Fatal(err)
	}
	b.advance(time.Minute)
	if got := b.nodeCondition("node-1", corev1.NodeReady); got != corev1.ConditionTrue {
		t.Errorf("in the end it is ready: %s", got)
	}
}

func taintKeys(node *corev1.Node) string {
	var keys []string
	for _, taint := range node.Spec.Taints {
		keys = append(keys, taint.Key)
	}
	return strings.Join(keys, " ")
}

func TestDeletedInstances(t *testing.T) {
	t.Parallel()
	b := newBenchWith(t, inCloud)
	b.run(read(t, "{nodes: {action: deleteInstance, names: [node-1]}}"))
	b.advance(2 * time.Minute)
	if _, err := b.client.CoreV1().Nodes().Get(t.Context(), "node-1", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the Node is left: %v", err)
	}
}

// A stopped instance that is deleted before the fault is over is not started again.
func TestStoppedInstanceIsDeleted(t *testing.T) {
	t.Parallel()
	b := newBenchWith(t, inCloud)
	wait := b.begin(t.Context(), read(t, "{nodes: {action: stopInstance, names: [node-1]}, for: 3m}"))
	b.advance(time.Minute)
	b.run(read(t, "{nodes: {action: deleteInstance, names: [node-1]}}"))
	if err := wait(); err != nil {
		t.Error(err)
	}
}

func TestNodesWithoutInstances(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, action := range []string{"stopInstance", "deleteInstance"} {
		err := b.begin(t.Context(), read(t, "{nodes: {action: "+action+", names: [node-1]}}"))()
		if err == nil || !strings.Contains(err.Error(), "node node-1 has no instance in the simulated cloud") {
			t.Errorf("%s: %v", action, err)
		}
	}
}
