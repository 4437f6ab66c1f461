package resources

import (
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
)

func ingressClassRow() *Resource {
	return &Resource{
		GroupVersionKind: networkingv1.SchemeGroupVersion.WithKind("IngressClass"),
		Plural:           "ingressclasses",
		New:              func() runtime.Object { return &networkingv1.IngressClass{} },
		NewList:          func() runtime.Object { return &networkingv1.IngressClassList{} },
		Strategy: Strategy{
			Default:        on(defaultIngressClass),
			Generation:     true,
			Validate:       check(validation.IngressClass),
			ValidateUpdate: checkUpdate(validation.IngressClassUpdate),
		},
	}
}

func defaultIngressClass(c *networkingv1.IngressClass) {
	if c.Spec.Parameters != nil {
		pointDefault(&c.Spec.Parameters.Scope, networkingv1.IngressClassParametersReferenceScopeCluster)
	}
}
