package columns

import (
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
)

// ValidatingWebhookConfiguration is the Table of admissionregistration.k8s.io/v1
// ValidatingWebhookConfigurations.
func ValidatingWebhookConfiguration() Table {
	return table(func(c *admissionv1.ValidatingWebhookConfiguration, now time.Time) []any {
		return []any{c.Name, int64(len(c.Webhooks)), age(c.CreationTimestamp, now)}
	}, webhookColumns()...)
}

// MutatingWebhookConfiguration is the Table of admissionregistration.k8s.io/v1
// MutatingWebhookConfigurations.
func MutatingWebhookConfiguration() Table {
	return table(func(c *admissionv1.MutatingWebhookConfiguration, now time.Time) []any {
		return []any{c.Name, int64(len(c.Webhooks)), age(c.CreationTimestamp, now)}
	}, webhookColumns()...)
}

func webhookColumns() []column {
	return []column{nameColumn(), integer("Webhooks", "How many webhooks there are."), ageColumn()}
}

// ValidatingAdmissionPolicy is the Table of admissionregistration.k8s.io/v1
// ValidatingAdmissionPolicies.
func ValidatingAdmissionPolicy() Table {
	doc := admissionv1.ValidatingAdmissionPolicySpec{}.SwaggerDoc()
	return table(func(p *admissionv1.ValidatingAdmissionPolicy, now time.Time) []any {
		return []any{p.Name, int64(len(p.Spec.Validations)), paramKind(p.Spec.ParamKind), age(p.CreationTimestamp, now)}
	},
		nameColumn(),
		integer("Validations", doc["validations"]),
		text("ParamKind", doc["paramKind"]),
		ageColumn(),
	)
}

// MutatingAdmissionPolicy is the Table of admissionregistration.k8s.io/v1
// MutatingAdmissionPolicies.
func MutatingAdmissionPolicy() Table {
	doc := admissionv1.MutatingAdmissionPolicySpec{}.SwaggerDoc()
	return table(func(p *admissionv1.MutatingAdmissionPolicy, now time.Time) []any {
		return []any{p.Name, int64(len(p.Spec.Mutations)), paramKind(p.Spec.ParamKind), age(p.CreationTimestamp, now)}
	},
		nameColumn(),
		integer("Mutations", doc["mutations"]),
		text("ParamKind", doc["paramKind"]),
		ageColumn(),
	)
}

func paramKind(kind *admissionv1.ParamKind) string {
	if kind == nil {
		return unset
	}
	return kind.APIVersion + "/" + kind.Kind
}

// ValidatingAdmissionPolicyBinding is the Table of admissionregistration.k8s.io/v1
// ValidatingAdmissionPolicyBindings.
func ValidatingAdmissionPolicyBinding() Table {
	return table(func(b *admissionv1.ValidatingAdmissionPolicyBinding, now time.Time) []any {
		return []any{b.Name, b.Spec.PolicyName, paramRef(b.Spec.ParamRef), age(b.CreationTimestamp, now)}
	}, policyUseColumns(admissionv1.ValidatingAdmissionPolicyBindingSpec{}.SwaggerDoc())...)
}

// MutatingAdmissionPolicyBinding is the Table of admissionregistration.k8s.io/v1
// MutatingAdmissionPolicyBindings.
func MutatingAdmissionPolicyBinding() Table {
	return table(func(b *admissionv1.MutatingAdmissionPolicyBinding, now time.Time) []any {
		return []any{b.Name, b.Spec.PolicyName, paramRef(b.Spec.ParamRef), age(b.CreationTimestamp, now)}
	}, policyUseColumns(admissionv1.MutatingAdmissionPolicyBindingSpec{}.SwaggerDoc())...)
}

func policyUseColumns(doc map[string]string) []column {
	return []column{nameColumn(), text("PolicyName", doc["policyName"]), text("ParamRef", doc["paramRef"]), ageColumn()}
}

// paramRef returns "namespace/name", with a star for objects that a selector matches.
func paramRef(ref *admissionv1.ParamRef) string {
	switch {
	case ref == nil:
		return unset
	case ref.Selector != nil:
		return orElse(ref.Namespace, "*") + "/*"
	case ref.Namespace != "":
		return ref.Namespace + "/" + ref.Name
	}
	return ref.Name
}
