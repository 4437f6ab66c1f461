package resources

import (
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
)

func validatingAdmissionPolicyRow() *Resource {
	kind := admissionv1.SchemeGroupVersion.WithKind("ValidatingAdmissionPolicy")
	newPolicy := func() runtime.Object { return &admissionv1.ValidatingAdmissionPolicy{} }
	return &Resource{
		GroupVersionKind: kind,
		Plural:           "validatingadmissionpolicies",
		Categories:       []string{"api-extensions"},
		New:              newPolicy,
		NewList:          func() runtime.Object { return &admissionv1.ValidatingAdmissionPolicyList{} },
		Strategy: Strategy{
			StatusKeeps:  allMetadata,
			AnyFinalizer: true,
			Default: on(func(p *admissionv1.ValidatingAdmissionPolicy) {
				pointDefault(&p.Spec.FailurePolicy, admissionv1.Fail)
				defaultMatch(p.Spec.MatchConstraints)
			}),
			Generation:                true,
			Validate:                  check(validation.ValidatingAdmissionPolicy),
			ValidateStatusUpdate:      checkUpdate(validation.ValidatingAdmissionPolicyStatus),
			ValidateCreate:            notStatic,
			ForbidUnconditionalUpdate: true,
		},
		Subresources: []Subresource{statusOf(kind, newPolicy)},
	}
}

func validatingAdmissionPolicyBindingRow() *Resource {
	return &Resource{
		GroupVersionKind: admissionv1.SchemeGroupVersion.WithKind("ValidatingAdmissionPolicyBinding"),
		Plural:           "validatingadmissionpolicybindings",
		Categories:       []string{"api-extensions"},
		New:              func() runtime.Object { return &admissionv1.ValidatingAdmissionPolicyBinding{} },
		NewList:          func() runtime.Object { return &admissionv1.ValidatingAdmissionPolicyBindingList{} },
		Strategy: Strategy{
			AnyFinalizer:              true,
			Default:                   on(func(b *admissionv1.ValidatingAdmissionPolicyBinding) { defaultMatch(b.Spec.MatchResources) }),
			Generation:                true,
			Validate:                  check(validation.ValidatingAdmissionPolicyBinding),
			ValidateCreate:            notStatic,
			ForbidUnconditionalUpdate: true,
		},
	}
}

func mutatingAdmissionPolicyRow() *Resource {
	return &Resource{
		GroupVersionKind: admissionv1.SchemeGroupVersion.WithKind("MutatingAdmissionPolicy"),
		Plural:           "mutatingadmissionpolicies",
		Categories:       []string{"api-extensions"},
		New:              func() runtime.Object { return &admissionv1.MutatingAdmissionPolicy{} },
		NewList:          func() runtime.Object { return &admissionv1.MutatingAdmissionPolicyList{} },
		Strategy: Strategy{
			AnyFinalizer: true,
			Default: on(func(p *admissionv1.MutatingAdmissionPolicy) {
				pointDefault(&p.Spec.FailurePolicy, admissionv1.Fail)
				defaultMatch(p.Spec.MatchConstraints)
			}),
			Generation:                true,
			Validate:                  check(validation.MutatingAdmissionPolicy),
			ValidateCreate:            notStatic,
			ForbidUnconditionalUpdate: true,
		},
	}
}

func mutatingAdmissionPolicyBindingRow() *Resource {
	return &Resource{
		GroupVersionKind: admissionv1.SchemeGroupVersion.WithKind("MutatingAdmissionPolicyBinding"),
		Plural:           "mutatingadmissionpolicybindings",
		Categories:       []string{"api-extensions"},
		New:              func() runtime.Object { return &admissionv1.MutatingAdmissionPolicyBinding{} },
		NewList:          func() runtime.Object { return &admissionv1.MutatingAdmissionPolicyBindingList{} },
		Strategy: Strategy{
			AnyFinalizer:              true,
			Default:                   on(func(b *admissionv1.MutatingAdmissionPolicyBinding) { defaultMatch(b.Spec.MatchResources) }),
			Generation:                true,
			Validate:                  check(validation.MutatingAdmissionPolicyBinding),
			ValidateCreate:            notStatic,
			ForbidUnconditionalUpdate: true,
		},
	}
}

// staticSuffix ends the names of objects that only files may have (KEP-5793).
const staticSuffix = ".static.k8s.io"

// notStatic refuses a new object with a name that only files may have.
func notStatic(obj runtime.Object) field.ErrorList {
	m, err := meta.Accessor(obj)
	if err != nil || !strings.HasSuffix(m.GetName(), staticSuffix) {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("metadata", "name"), m.GetName(),
		fmt.Sprintf("names ending with %q are reserved for static manifest-based configurations and cannot be managed via the API", staticSuffix))}
}

func defaultMatch(m *admissionv1.MatchResources) {
	if m == nil {
		return
	}
	pointDefault(&m.MatchPolicy, admissionv1.Equivalent)
	pointDefault(&m.NamespaceSelector, metav1.LabelSelector{})
	pointDefault(&m.ObjectSelector, metav1.LabelSelector{})
	for _, rules := range [][]admissionv1.NamedRuleWithOperations{m.ResourceRules, m.ExcludeResourceRules} {
		for i := range rules {
			pointDefault(&rules[i].Scope, admissionv1.AllScopes)
		}
	}
}
