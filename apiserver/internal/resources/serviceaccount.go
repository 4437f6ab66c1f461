package resources

import (
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/resources/warnings"
)

func serviceAccountRow() *Resource {
	return &Resource{
		GroupVersionKind: corev1.SchemeGroupVersion.WithKind("ServiceAccount"),
		Plural:           "serviceaccounts",
		ShortNames:       []string{"sa"},
		Namespaced:       true,
		New:              func() runtime.Object { return &corev1.ServiceAccount{} },
		NewList:          func() runtime.Object { return &corev1.ServiceAccountList{} },
		Strategy:         Strategy{ReturnDeleted: true, NameCheck: validation.ValidateServiceAccountName, Warnings: warn(warnings.ServiceAccount)},
		Subresources: []Subresource{{
			Name:             "token",
			GroupVersionKind: authenticationv1.SchemeGroupVersion.WithKind("TokenRequest"),
			Verbs:            []string{"create"},
			Create:           answer(Request.RequestToken),
			New:              func() runtime.Object { return &authenticationv1.TokenRequest{} },
			Default: func(obj runtime.Object) {
				pointDefault(&obj.(*authenticationv1.TokenRequest).Spec.ExpirationSeconds, defaultTokenSeconds)
			},
		}},
	}
}
