package capacity

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// touched returns the nodes that the changes drain, remove or take down.
func (a *adviser) touched() map[string]bool {
	nodes := map[string]bool{}
	for i := range a.changes {
		for _, name := range a.changes[i].Nodes {
			nodes[name] = true
		}
	}
	for _, d := range a.before.Drains {
		nodes[d.Node] = true
	}
	return nodes
}

// on counts a workload's pods on nodes. elsewhere are the others.
func (w *advised) on(nodes map[string]bool, pods []corev1.Pod) (count int, elsewhere []string) {
	for i := range pods {
		pod := &pods[i]
		if pod.Namespace != w.Namespace || ended(pod) || pod.DeletionTimestamp != nil || !w.selects.Matches(labels.Set(pod.Labels)) {
			continue
		}
		if nodes[pod.Spec.NodeName] {
			count++
		} else {
			elsewhere = append(elsewhere, pod.Name)
		}
	}
	slices.Sort(elsewhere)
	return count, elsewhere
}

// wanted is how many pods must be on the touched nodes: as many as before the remedy, unless that spreads them.
func (w *advised) wanted() int {
	if r := w.trying(); r.Replicas || r.Spread {
		return min(w.hit, 1)
	}
	return w.hit
}

// stayHit moves pods to the nodes that the changes touch, as far as fewer of a workload are there than before its remedy. A remedy rolls its
// workload out, and would seem to be enough if that happened to move the pods out of the way.
func (a *adviser) stayHit(ctx context.Context, f *Fork) error {
	touched := a.touched()
	pods, err := f.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing pods: %w", err)
	}
	var moving []types.NamespacedName
	for _, w := range a.workloads {
		there, elsewhere := w.on(touched, pods.Items)
		for _, name := range elsewhere[:min(max(0, w.wanted()-there), len(elsewhere))] {
			moving = append(moving, types.NamespacedName{Namespace: w.Namespace, Name: name})
		}
	}
	if len(moving) == 0 {
		return nil
	}
	nodes, err := f.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	var others []string
	for i := range nodes.Items {
		if n := &nodes.Items[i]; !touched[n.Name] && !n.Spec.Unschedulable {
			others = append(others, n.Name)
		}
	}
	if err := f.cordon(ctx, others); err != nil {
		return err
	}
	for _, pod := range moving {
		if err := f.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("moving pod %s: %w", pod, err)
		}
	}
	if _, err := f.settle(ctx); err != nil {
		return err
	}
	for _, name := range others {
		if _, err := f.client.CoreV1().Nodes().Patch(ctx, name, types.StrategicMergePatchType, []byte(`{"spec":{"unschedulable":null}}`), metav1.PatchOptions{}); err != nil {
			return fmt.Errorf("uncordoning node %s: %w", name, err)
		}
	}
	_, err = f.settle(ctx)
	return err
}

// isHit reports whether the changes still meet a workload.
func (a *adviser) isHit(ctx context.Context, f *Fork, w *advised) (bool, error) {
	pods, err := f.client.CoreV1().Pods(w.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return false, fmt.Errorf("listing pods: %w", err)
	}
	there, _ := w.on(a.touched(), pods.Items)
	return there >= w.wanted(), nil
}
