package hooks

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	apicel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// compiler compiles the expressions of one policy, which share its variables.
type compiler struct {
	*cel.CompositedCompiler
	declared cel.OptionalVariableDeclarations
}

// newCompiler returns a compiler for a policy with these variables. Stored expressions may
// use what any served version of Kubernetes has.
func newCompiler(params *admissionv1.ParamKind, variables []admissionv1.Variable) (*compiler, error) {
	composited, err := cel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	if err != nil {
		return nil, err
	}
	c := &compiler{composited, cel.OptionalVariableDeclarations{HasParams: params != nil, HasAuthorizer: true}}
	named := make([]cel.NamedExpressionAccessor, 0, len(variables))
	for _, v := range variables {
		named = append(named, &validating.Variable{Name: v.Name, Expression: v.Expression})
	}
	c.CompileAndStoreVariables(named, c.declared, environment.StoredExpressions)
	return c, nil
}

// matcher returns the match conditions of a policy, or nil if there are none.
func (c *compiler) matcher(policy string, conditions []admissionv1.MatchCondition, onFailure *admissionv1.FailurePolicyType) matchconditions.Matcher {
	if len(conditions) == 0 {
		return nil
	}
	expressions := make([]cel.ExpressionAccessor, 0, len(conditions))
	for i := range conditions {
		expressions = append(expressions, (*matchconditions.MatchCondition)(&conditions[i]))
	}
	return matchconditions.NewMatcher(c.CompileCondition(expressions, c.declared, environment.StoredExpressions), onFailure, "policy", "validate", policy)
}

// compileMutating compiles a policy. Errors of its expressions are found when it is applied.
func compileMutating(policy *mutating.Policy) mutating.PolicyEvaluator {
	spec := &policy.Spec
	c, err := newCompiler(spec.ParamKind, spec.Variables)
	if err != nil {
		return mutating.PolicyEvaluator{Error: &apicel.Error{Type: apicel.ErrorTypeInternal, Detail: "failed to initialize CEL compiler: " + err.Error()}}
	}
	declared := c.declared
	declared.HasPatchTypes = true
	evaluator := mutating.PolicyEvaluator{Matcher: c.matcher(policy.Name, spec.MatchConditions, spec.FailurePolicy), CompositedCompiler: c.CompositedCompiler}
	for _, m := range spec.Mutations {
		switch {
		case m.PatchType == admissionv1.PatchTypeJSONPatch && m.JSONPatch != nil:
			expression := &patch.JSONPatchCondition{Expression: m.JSONPatch.Expression}
			evaluator.Mutators = append(evaluator.Mutators, patch.NewJSONPatcher(c.CompileMutatingEvaluator(expression, declared, environment.StoredExpressions)))
		case m.PatchType == admissionv1.PatchTypeApplyConfiguration && m.ApplyConfiguration != nil:
			expression := &patch.ApplyConfigurationCondition{Expression: m.ApplyConfiguration.Expression}
			evaluator.Mutators = append(evaluator.Mutators, patch.NewApplyConfigurationPatcher(c.CompileMutatingEvaluator(expression, declared, environment.StoredExpressions)))
		}
	}
	return evaluator
}

// compileValidating compiles a policy. Errors of its expressions are found when it is
// applied.
func compileValidating(policy *validating.Policy) validating.Validator {
	spec := &policy.Spec
	c, err := newCompiler(spec.ParamKind, spec.Variables)
	if err != nil {
		return validating.NewValidator(nil, nil, nil, nil, spec.FailurePolicy, err)
	}
	var conditions, messages, annotations []cel.ExpressionAccessor
	for _, v := range spec.Validations {
		conditions = append(conditions, &validating.ValidationCondition{Expression: v.Expression, Message: v.Message, Reason: v.Reason})
		var message cel.ExpressionAccessor // a validation without one has nil in its place
		if v.MessageExpression != "" {
			message = &validating.MessageExpressionCondition{MessageExpression: v.MessageExpression}
		}
		messages = append(messages, message)
	}
	for _, a := range spec.AuditAnnotations {
		annotations = append(annotations, &validating.AuditAnnotationCondition{Key: a.Key, ValueExpression: a.ValueExpression})
	}
	unauthorized := c.declared
	unauthorized.HasAuthorizer = false
	compile := func(expressions []cel.ExpressionAccessor, declared cel.OptionalVariableDeclarations) cel.ConditionEvaluator {
		return c.CompileCondition(expressions, declared, environment.StoredExpressions)
	}
	return validating.NewValidator(compile(conditions, c.declared), c.matcher(policy.Name, spec.MatchConditions, spec.FailurePolicy),
		compile(annotations, c.declared), compile(messages, unauthorized), spec.FailurePolicy, nil)
}
