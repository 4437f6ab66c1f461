package resources

import (
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
	"minikcm.dev/minikcm/apiserver/internal/resources/warnings"
)

func nodeRow() *Resource {
	kind := corev1.SchemeGroupVersion.WithKind("Node")
	newNode := func() runtime.Object { return &corev1.Node{} }
	return &Resource{
		GroupVersionKind: kind,
		Plural:           "nodes",
		ShortNames:       []string{"no"},
		StoragePrefix:    "minions",
		New:              newNode,
		NewList:          func() runtime.Object { return &corev1.NodeList{} },
		SelectableFields: []string{"spec.unschedulable"},
		Field:            fieldOf(nodeField),
		Strategy: Strategy{
			Default:   on(defaultNode),
			NameCheck: apivalidation.NameIsDNSSubdomain,
			// A kubelet registers its node with a status.
			KeepStatusOnCreate: true,
			// Dynamic configuration of kubelets is gone; its stored part stays.
			PrepareCreate: on(func(n *corev1.Node) { n.Spec.ConfigSource, n.Status.Config = nil, nil }),
			PrepareStatusUpdate: onUpdate(func(n, old *corev1.Node) {
				if old.Status.Config == nil {
					n.Status.Config = nil
				}
			}),
			Warnings:             always(warnings.Node),
			Validate:             check(validation.Node),
			ValidateUpdate:       checkUpdate(validation.NodeUpdate),
			ValidateStatusUpdate: checkUpdate(validation.NodeStatus),
		},
		Subresources: []Subresource{proxy("NodeProxyOptions", serve(Request.ServeProxyToNode)), statusOf(kind, newNode)},
	}
}

func nodeField(node *corev1.Node, label string) string {
	if label == "spec.unschedulable" {
		return boolField(node.Spec.Unschedulable)
	}
	return ""
}

// defaultNode keeps the older single field and the newer list of a node's pod networks
// equal.
func defaultNode(n *corev1.Node) {
	switch cidr, cidrs := n.Spec.PodCIDR, n.Spec.PodCIDRs; {
	case cidr != "" && (len(cidrs) == 0 || cidrs[0] != cidr):
		n.Spec.PodCIDRs = []string{cidr}
	case cidr == "" && len(cidrs) > 0:
		n.Spec.PodCIDR = cidrs[0]
	}
	if n.Status.Allocatable == nil && n.Status.Capacity != nil {
		n.Status.Allocatable = n.Status.Capacity.DeepCopy()
	}
}
