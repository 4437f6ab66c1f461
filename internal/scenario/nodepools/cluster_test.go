package nodepools_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm/minikcmtest"
)

// TestNodesOfAFile starts a cluster with the nodes of a file.
func TestNodesOfAFile(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithNodePools(t, "testdata/pools.yaml"))
	list, err := c.Client().CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 9 {
		t.Fatalf("%d nodes", len(list.Items))
	}
	nodes := map[string]*corev1.Node{}
	for i := range list.Items {
		nodes[list.Items[i].Name] = &list.Items[i]
	}
	for name, zone := range map[string]string{"web-0": "eu-1a", "web-1": "eu-1b", "web-5": "eu-1c", "gpu-0": ""} {
		if got := nodes[name].Labels[corev1.LabelTopologyZone]; got != zone {
			t.Errorf("%s is in zone %q, not %q", name, got, zone)
		}
	}
	web, gpu := nodes["web-3"], nodes["gpu-1"]
	if v := web.Status.NodeInfo.KubeletVersion; v != "v1.36.1" {
		t.Errorf("version %s", v)
	}
	if images := web.Status.Images; len(images) != 2 || images[0].SizeBytes != 420<<20 || images[0].Names[1] != "registry.example.com/shop:2" {
		t.Errorf("images %v", images)
	}
	if cpu := web.Status.Allocatable[corev1.ResourceCPU]; cpu.String() != "3920m" {
		t.Errorf("allocatable %v", cpu.String())
	}
	if condition := readyOf(gpu); condition.Status != corev1.ConditionFalse || condition.Reason != "KubeletNotReady" {
		t.Errorf("%s is %s: %s", gpu.Name, condition.Status, condition.Reason)
	}
	c.Eventually("the GPUs", func(ctx context.Context, client kubernetes.Interface) error {
		node, err := client.CoreV1().Nodes().Get(ctx, gpu.Name, metav1.GetOptions{})
		if err == nil && readyOf(node).Status != corev1.ConditionTrue {
			return errors.New("the node is not Ready")
		}
		slices, listErr := client.ResourceV1().ResourceSlices().List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + gpu.Name})
		if listErr == nil && (len(slices.Items) != 1 || len(slices.Items[0].Spec.Devices) != 8) {
			listErr = fmt.Errorf("%d slices", len(slices.Items))
		}
		return errors.Join(err, listErr)
	})
	node, err := c.Client().CoreV1().Nodes().Get(ctx, gpu.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if after := readyOf(node).LastTransitionTime.Sub(node.CreationTimestamp.Time); after != 40*time.Second {
		t.Errorf("Ready after %v", after)
	}
}

// TestPodOnAStartingNode: a pod that tolerates everything gets its address when the network of its
// node is ready, and an image that the node has is not pulled.
func TestPodOnAStartingNode(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithNodePools(t, "testdata/pools.yaml"))
	for name, image := range map[string]string{"gpu-0": "busybox", "web-0": "registry.example.com/shop:2"} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "on-" + name}, Spec: corev1.PodSpec{
			NodeName: name, Containers: []corev1.Container{{Name: "c", Image: image, ImagePullPolicy: corev1.PullIfNotPresent}},
			Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
		}}
		if _, err := c.Client().CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	c.EventuallyEvent("default", "Pod", `Normal Pulled Container image "registry.example.com/shop:2" already present on machine and can be accessed by the pod`)
	c.Eventually("the pod on gpu-0 to run", func(ctx context.Context, client kubernetes.Interface) error {
		node, err := client.CoreV1().Nodes().Get(ctx, "gpu-0", metav1.GetOptions{})
		if err != nil {
			return err
		}
		pod, err := client.CoreV1().Pods("default").Get(ctx, "on-gpu-0", metav1.GetOptions{})
		if err == nil && pod.Status.Phase != corev1.PodRunning {
			return fmt.Errorf("it is %s", pod.Status.Phase)
		}
		if err == nil && readyOf(node).Status != corev1.ConditionTrue && pod.Status.PodIP != "" {
			t.Errorf("the pod has %s before its node is Ready", pod.Status.PodIP)
		}
		return err
	})
}

func readyOf(node *corev1.Node) corev1.NodeCondition {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c
		}
	}
	return corev1.NodeCondition{}
}
