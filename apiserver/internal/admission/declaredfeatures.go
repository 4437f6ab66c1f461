package admission

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/component-helpers/nodedeclaredfeatures"
	"k8s.io/component-helpers/nodedeclaredfeatures/types"
)

// NodeDeclaredFeatureValidator rejects an update of a bound pod that needs a feature that
// its node's status does not declare (KEP-5328).
type NodeDeclaredFeatureValidator struct {
	// Node returns a node or a NotFound error.
	Node func(ctx context.Context, name string) (*corev1.Node, error)
	// Version is the API server's: features that every supported kubelet has are not required.
	Version *version.Version
	// Features are the features that updates may need.
	Features *nodedeclaredfeatures.Framework
}

// Check implements Checker.
func (p NodeDeclaredFeatureValidator) Check(ctx context.Context, a *Attributes) error {
	pod, ok := a.Object.(*corev1.Pod)
	if !ok || a.Operation != Update || a.Subresource != "" && a.Subresource != "resize" || pod.Spec.NodeName == "" {
		return nil
	}
	old, ok := a.Old.(*corev1.Pod)
	if !ok || old.Generation == pod.Generation {
		return nil
	}
	needs, err := p.Features.InferForPodUpdate(infoOf(old), infoOf(pod), p.Version)
	if err != nil {
		return denied(a, fmt.Errorf("failed to infer pod capability requirements: %w", err))
	}
	if needs.IsEmpty() {
		return nil
	}
	node, err := boundTo(ctx, a, pod, p.Node)
	if err != nil {
		return err
	}
	match, err := p.Features.MatchNode(needs, node)
	if err != nil {
		return denied(a, fmt.Errorf("failed to match pod requirements against node %q: %w", node.Name, err))
	}
	if !match.IsMatch {
		return denied(a, fmt.Errorf("pod update requires features %s which are not available on node %q", strings.Join(match.UnsatisfiedRequirements, ", "), node.Name))
	}
	return nil
}

func infoOf(pod *corev1.Pod) *types.PodInfo {
	return &types.PodInfo{Spec: &pod.Spec, Status: &pod.Status}
}
