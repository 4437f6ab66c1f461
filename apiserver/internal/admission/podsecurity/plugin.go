package podsecurity

import (
	"bytes"
	"context"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/audit"
	standards "k8s.io/pod-security-admission/admission"
	"k8s.io/pod-security-admission/admission/api/load"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"minikcm.dev/minikcm/apiserver/internal/admission"
)

// Options configure New. All fields but Config are required.
type Options struct {
	// Config is a PodSecurityConfiguration (pod-security.admission.config.k8s.io/v1, YAML)
	// with the policy of namespaces without labels, and exemptions; empty: every pod is
	// allowed in such a namespace.
	Config []byte
	// Namespace returns a namespace, as new as the store's, or a NotFound error.
	Namespace func(ctx context.Context, name string) (*corev1.Namespace, error)
	// Pods returns the pods in a namespace in a slice of their own.
	Pods func(ctx context.Context, namespace string) ([]*corev1.Pod, error)
}

// Plugin is a Checker.
type Plugin struct{ rules *standards.Admission }

// New returns the plugin, or an error for a configuration that is not valid.
func New(opts Options) (*Plugin, error) {
	config, err := load.LoadFromReader(bytes.NewReader(opts.Config))
	if err != nil {
		return nil, err
	}
	checks, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		return nil, err
	}
	rules := &standards.Admission{
		Configuration: config, Evaluator: checks, Metrics: unmeasured{}, PodSpecExtractor: standards.DefaultPodSpecExtractor{},
		NamespaceGetter: namespaces(opts.Namespace), PodLister: pods(opts.Pods),
	}
	if err := rules.CompleteConfiguration(); err != nil {
		return nil, fmt.Errorf("PodSecurity configuration error: %w", err)
	}
	if err := rules.ValidateConfiguration(); err != nil {
		return nil, fmt.Errorf("PodSecurity invalid: %w", err)
	}
	return &Plugin{rules: rules}, nil
}

// Check implements admission.Checker.
func (p *Plugin) Check(ctx context.Context, a *admission.Attributes) error {
	if a.Operation != admission.Create && a.Operation != admission.Update {
		return nil
	}
	resource := a.Resource.GroupResource()
	if resource != corev1.Resource("namespaces") && !p.rules.PodSpecExtractor.HasPodSpec(resource) {
		return nil
	}
	result := p.rules.Validate(ctx, attributes{a})
	if a.Warn != nil {
		for _, text := range result.Warnings {
			a.Warn(text)
		}
	}
	for key, value := range result.AuditAnnotations {
		audit.AddAuditAnnotation(ctx, api.AuditAnnotationPrefix+key, value)
	}
	if result.Allowed {
		return nil
	}
	return refusal(a, result)
}

// refusal returns the Forbidden error for a write that is not allowed. The fields that the
// library's result sets (message, reason, details, code) override the defaults.
func refusal(a *admission.Attributes, result *admissionv1.AdmissionResponse) error {
	refused := apierrors.NewForbidden(a.Resource.GroupResource(), a.Name, errNotAllowed)
	said := result.Result
	if said == nil {
		return refused
	}
	if said.Message != "" {
		refused.ErrStatus.Message = said.Message
	}
	if said.Reason != "" {
		refused.ErrStatus.Reason = said.Reason
	}
	if said.Details != nil {
		refused.ErrStatus.Details = said.Details
	}
	if said.Code != 0 {
		refused.ErrStatus.Code = said.Code
	}
	return refused
}

const errNotAllowed = admission.UpstreamText("Not allowed by PodSecurity")

// attributes is a write in the form of the library. Kinds with a pod template are only
// served in their v1.
type attributes struct{ *admission.Attributes }

func (a attributes) GetName() string { return a.Name }

// GetNamespace returns the name of a Namespace as its namespace, as upstream.
func (a attributes) GetNamespace() string {
	if a.Resource.GroupResource() == corev1.Resource("namespaces") {
		return a.Name
	}
	return a.Namespace
}

func (a attributes) GetSubresource() string                   { return a.Subresource }
func (a attributes) GetOperation() admissionv1.Operation      { return admissionv1.Operation(a.Operation) }
func (a attributes) GetResource() schema.GroupVersionResource { return a.Resource.GVR() }
func (a attributes) GetKind() schema.GroupVersionKind         { return a.Record().GetKind() }

func (a attributes) GetUserName() string {
	if a.User == nil {
		return ""
	}
	return a.User.Name
}

func (a attributes) GetObject() (runtime.Object, error)    { return a.Object, nil }
func (a attributes) GetOldObject() (runtime.Object, error) { return a.Old, nil }
