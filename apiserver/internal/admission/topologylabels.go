package admission

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// topologyLabels are the labels that a pod gets from its node.
var topologyLabels = []string{corev1.LabelTopologyZone, corev1.LabelTopologyRegion}

// PodTopologyLabels copies the zone and the region of a node to the pods that are bound to
// it, or created on it (KEP-4742).
type PodTopologyLabels struct {
	// Node returns a node or a NotFound error.
	Node func(ctx context.Context, name string) (*corev1.Node, error)
}

// Mutate implements Mutator.
func (p PodTopologyLabels) Mutate(ctx context.Context, a *Attributes) error {
	if a.Operation != Create {
		return nil
	}
	var err error
	switch object := a.Object.(type) {
	case *corev1.Pod:
		if a.Subresource == "" {
			object.Labels, err = p.labeled(ctx, object.Labels, object.Spec.NodeName)
		}
	case *corev1.Binding:
		if a.Subresource == "binding" && object.Target.Kind == "Node" {
			object.Labels, err = p.labeled(ctx, object.Labels, object.Target.Name)
		}
	}
	return err
}

// labeled returns the labels with the node's topology labels added.
func (p PodTopologyLabels) labeled(ctx context.Context, labels map[string]string, name string) (map[string]string, error) {
	if name == "" {
		return labels, nil
	}
	node, err := p.Node(ctx, name)
	if apierrors.IsNotFound(err) {
		return labels, nil
	}
	if err != nil {
		return labels, err
	}
	for _, key := range topologyLabels {
		value, ok := node.Labels[key]
		if !ok {
			continue
		}
		if labels == nil {
			labels = map[string]string{}
		}
		labels[key] = value
	}
	return labels, nil
}
