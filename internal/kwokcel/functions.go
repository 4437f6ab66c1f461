package kwokcel

import (
	"reflect"

	"github.com/google/cel-go/cel"
	celast "github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/celtext"
)

// input is an Input as a value of CEL.
type input = celtext.Hidden[Input]

// newEnvironment returns the environment of a scope.
func (known *structTypes) newEnvironment(s Scope) (*cel.Env, error) {
	standard, err := types.NewRegistry()
	if err != nil {
		return nil, err
	}
	if err := standard.RegisterType(quantityType); err != nil {
		return nil, err
	}
	object := func(of any) *types.Type { return known.byGo[reflect.TypeOf(of)].cel }
	node, pod := object(corev1.Node{}), object(corev1.Pod{})
	options := []cel.EnvOption{
		celtext.StdLib(), celtext.Matches(),
		cel.CustomTypeProvider(provider{standard, known}), cel.CustomTypeAdapter(adapter{known}),
		cel.Variable(celtext.HiddenName, celtext.HiddenType), cel.Variable("node", node),
	}
	if s != OfNode {
		options = append(options, cel.Variable("pod", pod))
	}
	if s == OfUsage || s == OfContainer {
		options = append(options, cel.Variable("container", object(corev1.Container{})))
	}
	options = append(options, quantityOptions()...)
	options = append(options, timeOptions(node, pod)...)
	options = append(options, startedOptions(node)...)
	if s != OfUsage {
		options = append(options, usageOptions("Usage", false, node, pod)...)
		options = append(options, usageOptions("CumulativeUsage", true, node, pod)...)
	}
	return cel.NewCustomEnv(options...)
}

// withInput returns the macros that pass the input to a function: name(a, b) and, as kwok allows for
// all functions with arguments, a.name(b).
func withInput(name, function string, arguments int) cel.EnvOption {
	macros := []cel.Macro{cel.GlobalMacro(name, arguments, func(f cel.MacroExprFactory, _ celast.Expr, args []celast.Expr) (celast.Expr, *cel.Error) {
		return f.NewCall(function, append([]celast.Expr{f.NewIdent(celtext.HiddenName)}, args...)...), nil
	})}
	if arguments > 0 {
		macros = append(macros, cel.ReceiverMacro(name, arguments-1, func(f cel.MacroExprFactory, target celast.Expr, args []celast.Expr) (celast.Expr, *cel.Error) {
			return f.NewCall(function, append([]celast.Expr{f.NewIdent(celtext.HiddenName), target}, args...)...), nil
		}))
	}
	return cel.Macros(macros...)
}

func quantityOptions() []cel.EnvOption {
	q, text := quantityType, types.StringType
	operation := func(operator string, result *types.Type, operands ...*types.Type) cel.EnvOption {
		var all []cel.FunctionOpt
		for _, with := range operands {
			all = append(all, cel.Overload(operator+"_quantity_"+with.TypeName(), []*types.Type{q, with}, result))
		}
		return cel.Function(operator, all...)
	}
	options := []cel.EnvOption{
		cel.Function("Quantity",
			cel.Overload("quantity_string", []*types.Type{text}, q, cel.UnaryBinding(quantityOf)),
			cel.MemberOverload("string_quantity", []*types.Type{text}, q, cel.UnaryBinding(quantityOf))),
		operation(operators.Add, q, q), operation(operators.Subtract, q, q),
		cel.Function(operators.Negate, cel.Overload("negate_quantity", []*types.Type{q}, q)),
	}
	for _, operator := range []string{operators.Multiply, operators.Divide} {
		options = append(options, operation(operator, q, types.IntType, types.UintType, types.DoubleType))
	}
	for _, operator := range []string{operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals} {
		options = append(options, operation(operator, types.BoolType, q))
	}
	return options
}

func timeOptions(node, pod *types.Type) []cel.EnvOption {
	unix := cel.UnaryBinding(func(at ref.Val) ref.Val {
		t, ok := at.(types.Timestamp)
		if !ok {
			return types.MaybeNoSuchOverloadErr(at)
		}
		return types.Double(float64(t.Unix()) + float64(t.Nanosecond())/1e9)
	})
	since := cel.BinaryBinding(func(in, of ref.Val) ref.Val {
		now := in.(input).Of.Now
		switch o := of.Value().(type) {
		case *corev1.Node:
			return types.Double(now.Sub(o.CreationTimestamp.Time).Seconds())
		case *corev1.Pod:
			return types.Double(now.Sub(o.CreationTimestamp.Time).Seconds())
		}
		return types.MaybeNoSuchOverloadErr(of)
	})
	timestamp := []*types.Type{types.TimestampType}
	return []cel.EnvOption{
		cel.Function("Now", cel.Overload("now", []*types.Type{celtext.HiddenType}, types.TimestampType, cel.UnaryBinding(func(in ref.Val) ref.Val {
			return types.Timestamp{Time: in.(input).Of.Now.UTC()}
		}))),
		cel.Function("Rand", cel.Overload("rand", []*types.Type{celtext.HiddenType}, types.DoubleType, cel.UnaryBinding(func(in ref.Val) ref.Val {
			return types.Double(in.(input).Of.Random())
		}))),
		cel.Function("UnixSecond", cel.Overload("unix_second", timestamp, types.DoubleType, unix), cel.MemberOverload("timestamp_unix_second", timestamp, types.DoubleType, unix)),
		cel.Function("SinceSecond",
			cel.Overload("since_second_node", []*types.Type{celtext.HiddenType, node}, types.DoubleType, since),
			cel.Overload("since_second_pod", []*types.Type{celtext.HiddenType, pod}, types.DoubleType, since)),
		withInput("Now", "Now", 0), withInput("now", "Now", 0), withInput("Rand", "Rand", 0), withInput("SinceSecond", "SinceSecond", 1),
	}
}

func startedOptions(node *types.Type) []cel.EnvOption {
	const name = "StartedContainersTotal"
	return []cel.EnvOption{
		cel.Function(name,
			cel.Overload("started_node", []*types.Type{celtext.HiddenType, node}, types.DoubleType, cel.BinaryBinding(func(in, of ref.Val) ref.Val {
				n, ok := of.Value().(*corev1.Node)
				if !ok {
					return types.MaybeNoSuchOverloadErr(of)
				}
				return types.Double(in.(input).Of.Started(n.Name))
			})),
			cel.Overload("started_string", []*types.Type{celtext.HiddenType, types.StringType}, types.IntType, cel.BinaryBinding(func(in, of ref.Val) ref.Val {
				n, ok := of.(types.String)
				if !ok {
					return types.MaybeNoSuchOverloadErr(of)
				}
				return types.Int(in.(input).Of.Started(string(n)))
			}))),
		withInput(name, name, 1), withInput("startedContainersTotal", name, 1),
	}
}

// usageOptions declares the CEL function that returns the usage of a node, a pod or a container.
func usageOptions(name string, cumulative bool, node, pod *types.Type) []cel.EnvOption {
	text := types.StringType
	used := cel.FunctionBinding(func(args ...ref.Val) ref.Val {
		var of Subject
		switch o := args[1].Value().(type) {
		case *corev1.Node:
			of.Node = o.Name
		case *corev1.Pod:
			of.Pod = o
		default:
			return types.MaybeNoSuchOverloadErr(args[1])
		}
		resource, ok := args[2].(types.String)
		if !ok {
			return types.MaybeNoSuchOverloadErr(args[2])
		}
		if len(args) > 3 {
			container, ok := args[3].(types.String)
			if !ok {
				return types.MaybeNoSuchOverloadErr(args[3])
			}
			of.Container = string(container)
		}
		return types.Double(args[0].(input).Of.Usage(of, string(resource), cumulative))
	})
	return []cel.EnvOption{
		cel.Function(name,
			cel.Overload(name+"_node", []*types.Type{celtext.HiddenType, node, text}, types.DoubleType, used),
			cel.Overload(name+"_pod", []*types.Type{celtext.HiddenType, pod, text}, types.DoubleType, used),
			cel.Overload(name+"_container", []*types.Type{celtext.HiddenType, pod, text, text}, types.DoubleType, used)),
		withInput(name, name, 2), withInput(name, name, 3),
	}
}
