package controllers_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/minikcmtest"
)

func deploymentTolerating(replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": "web"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx"}}},
			},
		},
	}
}

func availableOf(replicas int32) func(context.Context, kubernetes.Interface) error {
	return func(ctx context.Context, client kubernetes.Interface) error {
		d, err := client.AppsV1().Deployments("default").Get(ctx, "web", metav1.GetOptions{})
		if err == nil && d.Status.AvailableReplicas != replicas {
			err = fmt.Errorf("%d available", d.Status.AvailableReplicas)
		}
		return err
	}
}

// recorded counts the events of a reason, and fails unless each message contains the text.
func recordedOn(reason, text string) func(context.Context, kubernetes.Interface) error {
	return func(ctx context.Context, client kubernetes.Interface) error {
		events, err := client.CoreV1().Events("default").List(ctx, metav1.ListOptions{FieldSelector: "reason=" + reason})
		if err != nil {
			return err
		}
		for i := range events.Items {
			if strings.Contains(events.Items[i].Message, text) {
				return nil
			}
		}
		return fmt.Errorf("no event %s says %q (of %d)", reason, text, len(events.Items))
	}
}

// TestALostNode follows a node whose heartbeats stop, in the cluster's time: Unknown 50 to
// 55 s after its last heartbeat and tainted then, its pods deleted 300 s later and replaced
// elsewhere, and everything undone when the heartbeats resume.
func TestALostNode(t *testing.T) {
	c := minikcmtest.New(t, minikcmtest.WithNodes(3), minikcmtest.WithVirtualTime())
	client := c.Client()
	if _, err := client.AppsV1().Deployments("default").Create(t.Context(), deploymentTolerating(6), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Eventually("the deployment", availableOf(6))
	lost := victimOf(t, client)
	start := c.Clock().Now()
	if err := c.Kubelets().StopNode(lost); err != nil {
		t.Fatal(err)
	}
	c.Eventually("the node to be unreachable", func(ctx context.Context, client kubernetes.Interface) error {
		n, err := client.CoreV1().Nodes().Get(ctx, lost, metav1.GetOptions{})
		if err == nil && len(n.Spec.Taints) < 2 {
			err = fmt.Errorf("taints: %v", n.Spec.Taints)
		}
		return err
	})
	if took := c.Clock().Since(start); took < 40*time.Second || took > 56*time.Second {
		t.Errorf("it took %v", took)
	}
	checkUnknown(t, client, lost)
	c.Eventually("the event about the node", recordedOn("NodeNotReady", "Node "+lost+" status is now: NodeNotReady"))
	c.Eventually("the event about its pods", recordedOn("NodeNotReady", "Node is not ready"))
	tainted := c.Clock().Now()
	c.Eventually("the deployment to be whole again", availableOf(6))
	if took := c.Clock().Since(tainted); took < 300*time.Second || took > 310*time.Second {
		t.Errorf("it took %v", took)
	}
	c.Eventually("the eviction", recordedOn("TaintManagerEviction", "Marking for deletion Pod default/web-"))
	checkDisrupted(t, client, lost)
	if err := c.Kubelets().StartNode(lost); err != nil {
		t.Fatal(err)
	}
	c.Eventually("the node to be back, and its old pods gone", func(ctx context.Context, client kubernetes.Interface) error {
		n, err := client.CoreV1().Nodes().Get(ctx, lost, metav1.GetOptions{})
		if err != nil {
			return err
		}
		pods, err := client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
		if err == nil && (len(n.Spec.Taints) > 0 || len(pods.Items) != 6) {
			err = fmt.Errorf("taints: %v, %d pods", n.Spec.Taints, len(pods.Items))
		}
		return err
	})
}

// victimOf returns a node with a pod on it.
func victimOf(t *testing.T, client kubernetes.Interface) string {
	t.Helper()
	pods, err := client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(pods.Items) == 0 {
		t.Fatalf("pods: %v, %v", pods, err)
	}
	return pods.Items[0].Spec.NodeName
}

func checkUnknown(t *testing.T, client kubernetes.Interface, node string) {
	t.Helper()
	n, err := client.CoreV1().Nodes().Get(t.Context(), node, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, condition := range n.Status.Conditions {
		if condition.Status == corev1.ConditionUnknown {
			if condition.Reason != "NodeStatusUnknown" || condition.Message != "Kubelet stopped posting node status." {
				t.Errorf("condition %+v", condition)
			}
		} else if condition.Type == corev1.NodeReady {
			t.Errorf("condition %+v", condition)
		}
	}
}

// checkDisrupted checks the remaining pods of a lost node.
func checkDisrupted(t *testing.T, client kubernetes.Interface, node string) {
	t.Helper()
	pods, err := client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{FieldSelector: "spec.nodeName=" + node})
	if err != nil || len(pods.Items) == 0 {
		t.Fatalf("pods of %s: %v, %v", node, pods, err)
	}
	for _, pod := range pods.Items {
		found := false
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.DisruptionTarget {
				found = c.Reason == "DeletionByTaintManager" && c.Status == corev1.ConditionTrue
			}
			if c.Type == corev1.PodReady && c.Status != corev1.ConditionFalse {
				t.Errorf("%s: %+v", pod.Name, c)
			}
		}
		if !found || pod.DeletionTimestamp == nil {
			t.Errorf("%s: conditions %+v, deleted at %v", pod.Name, pod.Status.Conditions, pod.DeletionTimestamp)
		}
	}
}

// TestABareNode creates a Node that no kubelet serves: it has the taint of new nodes at once,
// loses it because no condition calls for it, and is unreachable once its startup grace period
// has passed.
func TestABareNode(t *testing.T) {
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithOptions(func(o *minikcm.Options) { o.Nodes.Manage = minikcm.ManageNone }))
	created, err := c.Client().CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "bare"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if taints := fmt.Sprint(keysOf(created)); taints != "[node.kubernetes.io/not-ready:NoSchedule]" {
		t.Errorf("taints of the new Node: %s", taints)
	}
	c.Eventually("the node to be unreachable", func(ctx context.Context, client kubernetes.Interface) error {
		n, err := client.CoreV1().Nodes().Get(ctx, "bare", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if keys := fmt.Sprint(keysOf(n)); keys != "[node.kubernetes.io/unreachable:NoSchedule node.kubernetes.io/unreachable:NoExecute]" {
			return fmt.Errorf("its taints are %s", keys)
		}
		if len(n.Status.Conditions) != 4 {
			return fmt.Errorf("its conditions are %v", n.Status.Conditions)
		}
		for _, condition := range n.Status.Conditions {
			waited := condition.LastTransitionTime.Sub(n.CreationTimestamp.Time)
			if condition.Status != corev1.ConditionUnknown || condition.Reason != "NodeStatusNeverUpdated" || condition.Message != "Kubelet never posted node status." ||
				!condition.LastHeartbeatTime.Equal(&n.CreationTimestamp) || waited < time.Minute || waited > 66*time.Second {
				t.Errorf("after %v: %+v", waited, condition)
			}
		}
		return nil
	})
}

// keysOf lists a Node's taints as key:effect.
func keysOf(n *corev1.Node) []string {
	var keys []string
	for _, taint := range n.Spec.Taints {
		keys = append(keys, taint.Key+":"+string(taint.Effect))
	}
	return keys
}
