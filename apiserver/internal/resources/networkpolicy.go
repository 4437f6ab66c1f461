package resources

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
	"minikcm.dev/minikcm/apiserver/internal/resources/warnings"
)

func networkPolicyRow() *Resource {
	return &Resource{
		GroupVersionKind: networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"),
		Plural:           "networkpolicies",
		ShortNames:       []string{"netpol"},
		Namespaced:       true,
		New:              func() runtime.Object { return &networkingv1.NetworkPolicy{} },
		NewList:          func() runtime.Object { return &networkingv1.NetworkPolicyList{} },
		Strategy: Strategy{
			Default:        on(defaultNetworkPolicy),
			Generation:     true,
			Warnings:       always(warnings.NetworkPolicy),
			Validate:       check(validation.NetworkPolicy),
			ValidateCreate: check(validation.NetworkPolicyCreate),
			ValidateUpdate: checkUpdate(validation.NetworkPolicyUpdate),
		},
	}
}

func defaultNetworkPolicy(n *networkingv1.NetworkPolicy) {
	if len(n.Spec.PolicyTypes) == 0 {
		n.Spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
		if len(n.Spec.Egress) > 0 {
			n.Spec.PolicyTypes = append(n.Spec.PolicyTypes, networkingv1.PolicyTypeEgress)
		}
	}
	for i := range n.Spec.Ingress {
		defaultPolicyPorts(n.Spec.Ingress[i].Ports)
	}
	for i := range n.Spec.Egress {
		defaultPolicyPorts(n.Spec.Egress[i].Ports)
	}
}

func defaultPolicyPorts(ports []networkingv1.NetworkPolicyPort) {
	for i := range ports {
		pointDefault(&ports[i].Protocol, corev1.ProtocolTCP)
	}
}
