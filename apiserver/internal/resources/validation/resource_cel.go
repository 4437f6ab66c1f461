package validation

import (
	"errors"
	"fmt"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	draapi "k8s.io/dynamic-resource-allocation/cel"
)

// validateDeviceSelectors compiles the expressions as the scheduler does, and rejects
// expensive ones.
func validateDeviceSelectors(p *field.Path, selectors []resourcev1.DeviceSelector) field.ErrorList {
	return listOf(p, selectors, resourcev1.DeviceSelectorsMaxSize, func(p *field.Path, s *resourcev1.DeviceSelector) field.ErrorList {
		if s.CEL == nil {
			return field.ErrorList{field.Required(p.Child("cel"), "")}
		}
		return validateDeviceExpression(p.Child("cel", "expression"), s.CEL.Expression)
	})
}

func validateDeviceExpression(p *field.Path, expression string) field.ErrorList {
	if len(expression) > resourcev1.CELSelectorExpressionMaxLength {
		return field.ErrorList{field.TooLong(p, "", resourcev1.CELSelectorExpressionMaxLength)}
	}
	envType := environment.NewExpressions
	compiler := draapi.GetCompiler(draapi.Features{EnableConsumableCapacity: true})
	result := compiler.CompileCELExpression(expression, draapi.Options{EnvType: &envType})
	switch {
	case result.Error != nil:
		return field.ErrorList{expressionError(p, expression, result.Error)}
	case result.MaxCost > resourcev1.CELSelectorExpressionMaxCost:
		return field.ErrorList{field.Forbidden(p, "too complex, exceeds cost limit")}
	}
	return nil
}

// expressionError returns the error for an expression that does not compile, with the
// compiler's message.
func expressionError(p *field.Path, expression string, err error) *field.Error {
	var problem *apiservercel.Error
	if errors.As(err, &problem) {
		switch problem.Type {
		case apiservercel.ErrorTypeRequired:
			return field.Required(p, problem.Detail)
		case apiservercel.ErrorTypeInvalid:
			return field.Invalid(p, expression, problem.Detail)
		case apiservercel.ErrorTypeInternal:
			return field.InternalError(p, problem)
		}
	}
	return field.InternalError(p, fmt.Errorf("unsupported error type: %w", err))
}
