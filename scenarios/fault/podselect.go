package fault

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// matching returns the pods that may be hit.
func (p *Pods) matching(ctx context.Context, env *Env) ([]corev1.Pod, error) {
	p = p.within(env.Namespace)
	namespace := p.Namespace
	if len(p.Namespaces) > 0 {
		namespace = metav1.NamespaceAll
	}
	list, err := env.Client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: p.Selector, FieldSelector: p.FieldSelector})
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", p.which(), err)
	}
	nodes, err := p.nodes(ctx, env)
	if err != nil {
		return nil, err
	}
	annotations, err := labels.Parse(p.Annotations)
	if err != nil {
		return nil, fmt.Errorf("reading the selector of annotations: %w", err)
	}
	return slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool {
		ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
		return pod.DeletionTimestamp != nil || (ended && len(p.Phases) == 0) || !p.names(&pod) || !annotations.Matches(labels.Set(pod.Annotations)) ||
			(pod.Spec.NodeName == "" && p.breaks()) || (len(p.Phases) > 0 && !slices.Contains(p.Phases, string(pod.Status.Phase))) ||
			(nodes != nil && !slices.Contains(nodes, pod.Spec.NodeName))
	}), nil
}

// within returns the fault with another namespace in place of default.
func (p *Pods) within(namespace string) *Pods {
	if namespace == "" {
		return p
	}
	moved := *p
	if moved.Namespace == metav1.NamespaceDefault {
		moved.Namespace = namespace
	}
	moved.Namespaces = slices.Clone(p.Namespaces)
	for i, name := range moved.Namespaces {
		if name == metav1.NamespaceDefault {
			moved.Namespaces[i] = namespace
		}
	}
	return &moved
}

// breaks reports whether the action needs a running container, and so a pod on a node.
func (p *Pods) breaks() bool {
	return p.Action == PodCrash || p.Action == PodOOM || p.Action == PodNotReady
}

// names reports whether the fault means a pod by its name and namespace.
func (p *Pods) names(pod *corev1.Pod) bool {
	if len(p.Namespaces) > 0 && !slices.Contains(p.Namespaces, "*") && !slices.Contains(p.Namespaces, pod.Namespace) {
		return false
	}
	return len(p.Names) == 0 || slices.Contains(p.Names, pod.Name) || slices.Contains(p.Names, pod.Namespace+"/"+pod.Name)
}

// nodes returns the nodes that pods must be on; nil if any will do.
func (p *Pods) nodes(ctx context.Context, env *Env) ([]string, error) {
	names := p.Nodes
	if p.NodeSelector == "" {
		return names, nil
	}
	list, err := env.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: p.NodeSelector})
	if err != nil {
		return nil, fmt.Errorf("listing the nodes %s: %w", p.NodeSelector, err)
	}
	found := append([]string{}, names...)
	for i := range list.Items {
		found = append(found, list.Items[i].Name)
	}
	return found, nil
}
