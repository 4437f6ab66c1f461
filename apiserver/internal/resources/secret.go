package resources

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
	"minikcm.dev/minikcm/apiserver/internal/resources/warnings"
)

func secretRow() *Resource {
	return &Resource{
		GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Secret"),
		Plural:           "secrets",
		Namespaced:       true,
		New:              func() runtime.Object { return &corev1.Secret{} },
		NewList:          func() runtime.Object { return &corev1.SecretList{} },
		SelectableFields: []string{"type"},
		Field: fieldOf(func(s *corev1.Secret, label string) string {
			if label == "type" {
				return string(s.Type)
			}
			return ""
		}),
		Strategy: Strategy{
			Default:        on(defaultSecret),
			PrepareCreate:  on(mergeStringData),
			PrepareUpdate:  onUpdate(prepareSecretUpdate),
			Warnings:       always(warnings.Secret),
			Validate:       check(validation.Secret),
			ValidateUpdate: checkUpdate(validation.SecretUpdate),
		},
	}
}

func defaultSecret(s *corev1.Secret) {
	mergeStringData(s)
	setDefault(&s.Type, corev1.SecretTypeOpaque)
}

// mergeStringData moves the write-only field into the stored one.
func mergeStringData(s *corev1.Secret) {
	if len(s.StringData) == 0 {
		return
	}
	if s.Data == nil {
		s.Data = make(map[string][]byte, len(s.StringData))
	}
	for k, v := range s.StringData {
		s.Data[k] = []byte(v)
	}
	s.StringData = nil
}

// prepareSecretUpdate keeps the type of a secret if an update omits it, as old clients
// do.
func prepareSecretUpdate(s, old *corev1.Secret) {
	mergeStringData(s)
	setDefault(&s.Type, old.Type)
}
