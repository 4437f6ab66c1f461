package resources

import (
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
)

func namespaceRow() *Resource {
	return &Resource{
		GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Namespace"),
		Plural:           "namespaces",
		ShortNames:       []string{"ns"},
		// Without deletecollection: each namespace is emptied by its controller.
		Verbs:            []string{"create", "delete", "get", "list", "patch", "update", "watch"},
		New:              func() runtime.Object { return &corev1.Namespace{} },
		NewList:          func() runtime.Object { return &corev1.NamespaceList{} },
		SelectableFields: []string{"status.phase"},
		Field:            fieldOf(namespaceField),
		Strategy: Strategy{
			ReturnDeleted:        true,
			Default:              on(defaultNamespace),
			PrepareCreate:        on(prepareNamespace),
			PrepareUpdate:        onUpdate(prepareNamespaceUpdate),
			Validate:             check(validation.Namespace),
			ValidateStatusUpdate: checkUpdate(validation.NamespaceStatus),
			NameCheck:            apivalidation.ValidateNamespaceName,
			MarkDeleted:          on(markNamespaceDeleted),
			Unmet:                "Precondition failed",
			Finalizing:           func(obj runtime.Object) bool { return len(obj.(*corev1.Namespace).Spec.Finalizers) > 0 },
		},
		Subresources: []Subresource{
			{
				Name:             "finalize",
				GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Namespace"),
				Verbs:            []string{"update"},
				New:              func() runtime.Object { return &corev1.Namespace{} },
				Get:              func(parent runtime.Object) (runtime.Object, error) { return parent, nil },
				Update:           writeInto(finalizeNamespace),
			},
			statusOf(corev1.SchemeGroupVersion.WithKind("Namespace"), func() runtime.Object { return &corev1.Namespace{} }),
		},
	}
}

func namespaceField(ns *corev1.Namespace, label string) string {
	if label == "status.phase" {
		return string(ns.Status.Phase)
	}
	return ""
}

func defaultNamespace(ns *corev1.Namespace) {
	setDefault(&ns.Status.Phase, corev1.NamespaceActive)
	if ns.Name == "" {
		return
	}
	if ns.Labels == nil {
		ns.Labels = map[string]string{}
	}
	ns.Labels[corev1.LabelMetadataName] = ns.Name
}

func prepareNamespace(ns *corev1.Namespace) {
	defaultNamespace(ns) // a generated name is not known when defaults are set
	ns.Status = corev1.NamespaceStatus{Phase: corev1.NamespaceActive}
	for _, f := range ns.Spec.Finalizers {
		if f == corev1.FinalizerKubernetes {
			return
		}
	}
	ns.Spec.Finalizers = append(ns.Spec.Finalizers, corev1.FinalizerKubernetes)
}

// prepareNamespaceUpdate keeps the finalizers, which only the finalize subresource
// changes.
func prepareNamespaceUpdate(ns, old *corev1.Namespace) {
	ns.Spec.Finalizers = old.Spec.Finalizers
}

func markNamespaceDeleted(ns *corev1.Namespace) {
	ns.Status.Phase = corev1.NamespaceTerminating
}

// finalizeNamespace writes all but the status.
func finalizeNamespace(ns, sent *corev1.Namespace) error {
	takeMetadata(ns, sent)
	ns.Spec = sent.Spec
	return nil
}
