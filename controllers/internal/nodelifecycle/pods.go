package nodelifecycle

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/controllers/internal/nodelifecycle/decide"
	"minikcm.dev/minikcm/internal/cause"
	"minikcm.dev/minikcm/internal/loop"
)

// wakeForPod enqueues a pod that is ready while its node is not.
func (c *Controller) wakeForPod(ev loop.Event) []types.NamespacedName {
	pod, ok := ev.Object.(*corev1.Pod)
	if !ok || ev.Type == loop.Deleted || pod.Spec.NodeName == "" || readyCondition(pod) < 0 {
		return nil
	}
	node, err := c.nodes.Get(pod.Spec.NodeName)
	if err != nil || !isKnownNotReady(node) {
		return nil
	}
	return loop.Self(ev)
}

// wakePods enqueues the ready pods of a node that has just become silent.
func (c *Controller) wakePods(old, node *corev1.Node) {
	if !isSilent(node) || old != nil && isSilent(old) {
		return
	}
	for _, pod := range c.podsByNode.On(node.Name) {
		if readyCondition(pod) >= 0 {
			c.podLoop.Add(loop.KeyOf(pod), cause.Of(node)...)
		}
	}
}

func isSilent(n *corev1.Node) bool {
	ready := decide.ConditionOf(n, corev1.NodeReady)
	return ready != nil && ready.Status == corev1.ConditionUnknown
}

// isKnownNotReady reports whether the node has a Ready condition that is not True.
func isKnownNotReady(n *corev1.Node) bool {
	ready := decide.ConditionOf(n, corev1.NodeReady)
	return ready != nil && ready.Status != corev1.ConditionTrue
}

// readyCondition returns the index of the pod's Ready condition if that is True, else -1.
func readyCondition(pod *corev1.Pod) int {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return i
		}
	}
	return -1
}

// reconcilePod sets the pod's Ready condition to False if its node is not ready. Only the
// node's kubelet sets it to True again.
func (c *Controller) reconcilePod(ctx context.Context, pod *corev1.Pod) (loop.Result, error) {
	key := loop.KeyOf(pod)
	i := readyCondition(pod)
	if i < 0 || pod.Spec.NodeName == "" {
		return loop.Result{}, nil
	}
	node, err := c.nodes.Get(pod.Spec.NodeName)
	if apierrors.IsNotFound(err) || err == nil && !isKnownNotReady(node) {
		return loop.Result{}, nil
	}
	if err != nil {
		return loop.Result{}, fmt.Errorf("getting node %s of pod %s: %w", pod.Spec.NodeName, key, err)
	}
	updated := pod.DeepCopy()
	updated.Status.Conditions[i].Status = corev1.ConditionFalse
	updated.Status.Conditions[i].ObservedGeneration = pod.Generation
	updated.Status.Conditions[i].LastTransitionTime = metav1.NewTime(c.clock.Now())
	_, err = c.client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, updated, metav1.UpdateOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return loop.Result{}, nil
	case err != nil:
		return loop.Result{}, fmt.Errorf("marking pod %s not ready: %w", key, err)
	}
	c.events.Event(pod, corev1.EventTypeWarning, "NodeNotReady", "Node is not ready")
	return loop.Result{}, nil
}
