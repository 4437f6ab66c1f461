package admission

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resourcehelper "k8s.io/component-helpers/resource"
)

// The causes of a refused resize.
const (
	causeNodeCapacity        metav1.CauseType = "NodeCapacity"
	causeUnsupportedPlatform metav1.CauseType = "UnsupportedPlatform"
)

// PodResizeValidator rejects a resize of a pod to more than its whole node has, or on a
// node that cannot resize pods (KEP-1287).
type PodResizeValidator struct {
	// Node returns a node or a NotFound error.
	Node func(ctx context.Context, name string) (*corev1.Node, error)
}

// Check implements Checker.
func (p PodResizeValidator) Check(ctx context.Context, a *Attributes) error {
	pod, ok := a.Object.(*corev1.Pod)
	if !ok || a.Operation != Update || a.Subresource != "resize" || pod.Spec.NodeName == "" {
		return nil
	}
	if old, ok := a.Old.(*corev1.Pod); ok && old.Generation == pod.Generation {
		return nil
	}
	node, err := boundTo(ctx, a, pod, p.Node)
	if err != nil {
		return err
	}
	if system, ok := node.Labels[corev1.LabelOSStable]; ok && system != "linux" {
		return resizeDenied(a, causeUnsupportedPlatform, fmt.Errorf("pod resize is only supported on linux nodes, node %q is %q", node.Name, system))
	}
	if lacks := lacking(pod, node); len(lacks) > 0 {
		return resizeDenied(a, causeNodeCapacity, fmt.Errorf("node didn't have enough allocatable resources: %s", strings.Join(lacks, "; ")))
	}
	return nil
}

// boundTo returns the node of a pod, or the error for a write that depends on it.
func boundTo(ctx context.Context, a *Attributes, pod *corev1.Pod, get func(ctx context.Context, name string) (*corev1.Node, error)) (*corev1.Node, error) {
	node, err := get(ctx, pod.Spec.NodeName)
	switch {
	case apierrors.IsNotFound(err):
		return nil, denied(a, fmt.Errorf("node %q not found", pod.Spec.NodeName))
	case err != nil:
		return nil, denied(a, fmt.Errorf("failed to get node %q: %w", pod.Spec.NodeName, err))
	}
	return node, nil
}

// lacking returns the resources of which a node has too little even for the pod alone, in
// upstream's words.
func lacking(pod *corev1.Pod, node *corev1.Node) []string {
	wanted := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})
	has := node.Status.Allocatable
	var lacks []string
	if wanted.Cpu().Cmp(*has.Cpu()) > 0 {
		lacks = append(lacks, fmt.Sprintf("cpu, requested: %d, allocatable: %d", wanted.Cpu().MilliValue(), has.Cpu().MilliValue()))
	}
	if wanted.Memory().Cmp(*has.Memory()) > 0 {
		lacks = append(lacks, fmt.Sprintf("memory, requested: %d, allocatable: %d", wanted.Memory().Value(), has.Memory().Value()))
	}
	return lacks
}

func resizeDenied(a *Attributes, cause metav1.CauseType, why error) error {
	refused := apierrors.NewForbidden(a.Resource.GroupResource(), a.Name, why)
	refused.ErrStatus.Details.Causes = append(refused.ErrStatus.Details.Causes, metav1.StatusCause{Type: cause})
	return refused
}
