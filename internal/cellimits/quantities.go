package cellimits

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"k8s.io/apimachinery/pkg/api/resource"
	apiservercel "k8s.io/apiserver/pkg/cel"

	"minikcm.dev/minikcm/internal/quantityguard"
)

// quantities returns Kubernetes' functions that parse quantities, with the limits of quantities in
// objects.
func quantities() []cel.EnvOption {
	text := []*cel.Type{cel.StringType}
	parse := func(arg ref.Val, then func(resource.Quantity, error) ref.Val) ref.Val {
		s, ok := arg.Value().(string)
		switch {
		case !ok:
			return types.MaybeNoSuchOverloadErr(arg)
		case quantityguard.Beyond(s):
			return types.NewErr("%s", quantityguard.Limits)
		}
		return then(resource.ParseQuantity(s))
	}
	return []cel.EnvOption{
		cel.Function("quantity", cel.Overload("string_to_quantity", text, apiservercel.QuantityType, cel.UnaryBinding(func(arg ref.Val) ref.Val {
			return parse(arg, func(q resource.Quantity, err error) ref.Val {
				if err != nil {
					return types.WrapErr(err)
				}
				return apiservercel.Quantity{Quantity: &q}
			})
		}))),
		cel.Function("isQuantity", cel.Overload("is_quantity_string", text, cel.BoolType, cel.UnaryBinding(func(arg ref.Val) ref.Val {
			return parse(arg, func(_ resource.Quantity, err error) ref.Val { return types.Bool(err == nil) })
		}))),
	}
}
