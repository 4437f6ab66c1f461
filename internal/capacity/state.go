package capacity

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	resourcehelper "k8s.io/component-helpers/resource"
)

// state is the nodes and pods of a fork at one instant, by name.
type state struct {
	nodes []corev1.Node
	pods  []corev1.Pod
	// preempted are the UIDs of the pods that were preempted so far.
	preempted   map[types.UID]bool
	controllers []controller
}

func (f *Fork) state(ctx context.Context) (*state, error) {
	nodes, err := f.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing nodes: %w", err)
	}
	pods, err := f.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing pods: %w", err)
	}
	events, err := f.client.CoreV1().Events("").List(ctx, metav1.ListOptions{FieldSelector: "reason=Preempted"})
	if err != nil {
		return nil, fmt.Errorf("listing events: %w", err)
	}
	controllers, err := f.controllers(ctx)
	if err != nil {
		return nil, err
	}
	s := &state{nodes.Items, pods.Items, map[types.UID]bool{}, controllers}
	for i := range events.Items {
		s.preempted[events.Items[i].InvolvedObject.UID] = true
	}
	return s, nil
}

func nameOf(pod *corev1.Pod) Pod { return Pod{pod.Namespace, pod.Name} }

// ended reports whether a pod has ended and no longer uses resources of its node.
func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// requestsOf returns the requests of a pod.
func requestsOf(pod *corev1.Pod) corev1.ResourceList {
	return resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})
}

// amounts are quantities by resource.
type amounts map[corev1.ResourceName]resource.Quantity

func (a amounts) add(list corev1.ResourceList) {
	for name, quantity := range list {
		sum := a[name]
		sum.Add(quantity)
		a[name] = sum
	}
}

func (a amounts) texts() map[string]string {
	texts := make(map[string]string, len(a))
	for name, quantity := range a {
		texts[string(name)] = quantity.String()
	}
	return texts
}

// use returns the use of each node by name.
func (s *state) use() map[string]*Use {
	all := make(map[string]*Use, len(s.nodes))
	for i := range s.nodes {
		n := &s.nodes[i]
		all[n.Name] = &Use{requested: amounts{}, allocatable: amounts{}, Unschedulable: n.Spec.Unschedulable}
		all[n.Name].allocatable.add(n.Status.Allocatable)
	}
	one := resource.MustParse("1")
	for i := range s.pods {
		pod := &s.pods[i]
		u := all[pod.Spec.NodeName]
		if u == nil || ended(pod) {
			continue
		}
		u.requested.add(requestsOf(pod))
		u.requested.add(corev1.ResourceList{corev1.ResourcePods: one})
	}
	for _, u := range all {
		u.Requested, u.Allocatable = u.requested.texts(), u.allocatable.texts()
	}
	return all
}
