package hooks

import (
	"context"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	upstream "k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/policy/generic"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// bindingKey is where a request keeps the binding that upstream's plugin evaluates, because the
// evaluation is not given it.
const bindingKey = "minikcm.dev/binding"

// notingMatcher keeps the binding that matched last, which is evaluated next.
type notingMatcher struct {
	generic.PolicyMatcher
	sources []*validations
}

// BindingMatches implements generic.PolicyMatcher.
func (m notingMatcher) BindingMatches(a upstream.Attributes, o upstream.ObjectInterfaces, binding generic.BindingAccessor) (bool, error) {
	matches, err := m.PolicyMatcher.BindingMatches(a, o, binding)
	if matches && err == nil {
		for _, source := range m.sources {
			if found := source.binding(binding.GetName()); found != nil {
				a.GetReinvocationContext().SetValue(bindingKey, found)
			}
		}
	}
	return matches, err
}

// binding returns the binding of a name; nil: there is none.
func (s *policySource[P, B, E]) binding(name string) any {
	for _, hook := range s.Hooks() {
		for _, binding := range hook.Bindings {
			if s.bindingOf(binding).GetName() == name {
				return binding
			}
		}
	}
	return nil
}

// bindingOfAny returns the name of the first binding of a policy.
func (s *policySource[P, B, E]) bindingOfAny(policy string) string {
	for _, hook := range s.Hooks() {
		if s.policyOf(hook.Policy).GetName() == policy && len(hook.Bindings) > 0 {
			return s.bindingOf(hook.Bindings[0]).GetName()
		}
	}
	return ""
}

// measuredValidator records the decisions of a policy as upstream's plugin does.
type measuredValidator struct {
	validating.Validator
	observer Observer
	policy   string
}

// Validate implements validating.Validator.
func (v measuredValidator) Validate(
	ctx context.Context, resource schema.GroupVersionResource, attr *upstream.VersionedAttributes, params runtime.Object,
	namespace *corev1.Namespace, budget int64, authz authorizer.UnconditionalAuthorizer,
) validating.ValidateResult {
	result := v.Validator.Validate(ctx, resource, attr, params, namespace, budget, authz)
	if attr == nil {
		return result
	}
	binding, ok := attr.GetReinvocationContext().Value(bindingKey).(*admissionv1.ValidatingAdmissionPolicyBinding)
	if !ok {
		return result
	}
	for i := range result.Decisions {
		d := &result.Decisions[i]
		switch {
		case d.Action == validating.ActionDeny:
			for _, action := range binding.Spec.ValidationActions {
				v.observe(binding, d, actionNames[action])
			}
		case d.Action == validating.ActionAdmit && d.Evaluation == validating.EvalError:
			v.observe(binding, d, "allow")
		}
	}
	for i := range result.AuditAnnotations {
		if a := &result.AuditAnnotations[i]; a.Action == validating.AuditAnnotationActionError {
			v.observe(binding, &validating.PolicyDecision{Evaluation: validating.EvalError, Message: a.Error, Elapsed: a.Elapsed}, "deny")
		}
	}
	return result
}

// actionNames are the validation actions as upstream's metrics name them.
var actionNames = map[admissionv1.ValidationAction]string{admissionv1.Deny: "deny", admissionv1.Audit: "audit", admissionv1.Warn: "warn"}

func (v measuredValidator) observe(binding *admissionv1.ValidatingAdmissionPolicyBinding, d *validating.PolicyDecision, action string) {
	v.observer.ValidatingPolicy(v.policy, binding.Name, string(validating.ErrorType(d)), action, d.Elapsed)
}

// measureMutating returns the evaluator with patchers that record their results. bindingOf returns
// the name of the first binding of a policy.
func measureMutating(observer Observer, policy string, bindingOf func(policy string) string, e mutating.PolicyEvaluator) mutating.PolicyEvaluator {
	for i, patcher := range e.Mutators {
		e.Mutators[i] = measuredPatcher{patcher, func(err error, took time.Duration) {
			observer.MutatingPolicy(policy, bindingOf(policy), string(mutating.ErrorType(err)), took)
		}, observer.Begin}
	}
	return e
}

type measuredPatcher struct {
	patch.Patcher
	observe func(err error, took time.Duration)
	begin   func() func() time.Duration
}

// Patch implements patch.Patcher.
func (p measuredPatcher) Patch(ctx context.Context, rq patch.Request, budget int64) (runtime.Object, error) {
	elapsed := p.begin()
	obj, err := p.Patcher.Patch(ctx, rq, budget)
	p.observe(err, elapsed())
	return obj, err
}
