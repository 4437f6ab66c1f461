package resources

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
)

func validatingWebhookConfigurationRow() *Resource {
	return &Resource{
		GroupVersionKind: admissionv1.SchemeGroupVersion.WithKind("ValidatingWebhookConfiguration"),
		Plural:           "validatingwebhookconfigurations",
		Categories:       []string{"api-extensions"},
		New:              func() runtime.Object { return &admissionv1.ValidatingWebhookConfiguration{} },
		NewList:          func() runtime.Object { return &admissionv1.ValidatingWebhookConfigurationList{} },
		Strategy: Strategy{
			AnyFinalizer: true,
			Default: on(func(c *admissionv1.ValidatingWebhookConfiguration) {
				for i := range c.Webhooks {
					asMutating(&c.Webhooks[i], defaultWebhook)
				}
			}),
			Generation:                true,
			Validate:                  check(validation.ValidatingWebhookConfiguration),
			ValidateCreate:            notStatic,
			ForbidUnconditionalUpdate: true,
		},
	}
}

func mutatingWebhookConfigurationRow() *Resource {
	return &Resource{
		GroupVersionKind: admissionv1.SchemeGroupVersion.WithKind("MutatingWebhookConfiguration"),
		Plural:           "mutatingwebhookconfigurations",
		Categories:       []string{"api-extensions"},
		New:              func() runtime.Object { return &admissionv1.MutatingWebhookConfiguration{} },
		NewList:          func() runtime.Object { return &admissionv1.MutatingWebhookConfigurationList{} },
		Strategy: Strategy{
			AnyFinalizer: true,
			Default: on(func(c *admissionv1.MutatingWebhookConfiguration) {
				for i := range c.Webhooks {
					defaultWebhook(&c.Webhooks[i])
					pointDefault(&c.Webhooks[i].ReinvocationPolicy, admissionv1.NeverReinvocationPolicy)
				}
			}),
			Generation:                true,
			Validate:                  check(validation.MutatingWebhookConfiguration),
			ValidateCreate:            notStatic,
			ForbidUnconditionalUpdate: true,
		},
	}
}

// asMutating applies f to a validating webhook through the mutating type, which has all
// its fields.
func asMutating(w *admissionv1.ValidatingWebhook, f func(*admissionv1.MutatingWebhook)) {
	m := validation.AsMutating(w)
	f(m)
	*w = admissionv1.ValidatingWebhook{
		Name: m.Name, ClientConfig: m.ClientConfig, Rules: m.Rules, FailurePolicy: m.FailurePolicy, MatchPolicy: m.MatchPolicy,
		NamespaceSelector: m.NamespaceSelector, ObjectSelector: m.ObjectSelector, SideEffects: m.SideEffects, TimeoutSeconds: m.TimeoutSeconds,
		AdmissionReviewVersions: m.AdmissionReviewVersions, MatchConditions: m.MatchConditions,
	}
}

func defaultWebhook(w *admissionv1.MutatingWebhook) {
	pointDefault(&w.FailurePolicy, admissionv1.Fail)
	pointDefault(&w.MatchPolicy, admissionv1.Equivalent)
	pointDefault(&w.NamespaceSelector, metav1.LabelSelector{})
	pointDefault(&w.ObjectSelector, metav1.LabelSelector{})
	pointDefault(&w.TimeoutSeconds, 10)
	if w.ClientConfig.Service != nil {
		pointDefault(&w.ClientConfig.Service.Port, 443)
	}
	for i := range w.Rules {
		pointDefault(&w.Rules[i].Scope, admissionv1.AllScopes)
	}
}
