package kwokcel

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/cel-go/cel"
	celast "github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/celtext"
)

// The budgets of an expression.
const (
	// MaxExpression caps the bytes of one.
	MaxExpression = 4 << 10
	// maxCost caps the cost of one evaluation, as CEL counts it.
	maxCost = 5_000
	// baseCost is the fixed cost of an evaluation, in units of a Budget.
	baseCost = 10
)

// ErrBudget is the error of an evaluation for which no Budget is left.
var ErrBudget = errors.New("the expressions cost too much together")

// Scope is the place of an expression, which decides the variables that it can use.
type Scope int

const (
	// OfUsage is a usage of a container: it has all variables, but neither Usage nor
	// CumulativeUsage, which would depend on it.
	OfUsage Scope = iota
	// OfNode, OfPod and OfContainer are metrics of that dimension, which have the variable of that
	// name and those before it.
	OfNode
	OfPod
	OfContainer
	scopes
)

// Input holds the inputs of an expression. Fields that its scope does not have may be nil.
type Input struct {
	Node      *corev1.Node
	Pod       *corev1.Pod
	Container *corev1.Container
	Now       time.Time
	// Budget, if not nil, is the cost that is left to several evaluations.
	Budget *uint64
	// Random returns the next random number in [0, 1).
	Random func() float64
	// Started returns how many containers a node has started.
	Started func(node string) int64
	// Usage returns the usage of a resource by a node, a pod or a container. If cumulative, it
	// returns the usage until now in amounts times seconds.
	Usage func(of Subject, resource string, cumulative bool) float64
}

// Subject is a node, a pod or a container whose usage an expression reads.
type Subject struct {
	// Node is empty for pods and containers.
	Node string
	Pod  *corev1.Pod
	// Container is empty for all containers of the pod.
	Container string
}

// Expression is a compiled expression.
type Expression struct {
	source  string
	program cel.Program
	types   *structTypes
	varies  bool
}

// Compiler compiles expressions, one at a time.
type Compiler struct {
	types *structTypes
	// environments has the environment of each scope in use.
	environments [scopes]*cel.Env
}

// NewCompiler returns a compiler.
func NewCompiler() *Compiler { return &Compiler{types: newStructTypes()} }

// environment returns the environment of a scope, which takes a few milliseconds to make.
func (c *Compiler) environment(in Scope) (*cel.Env, error) {
	if c.environments[in] == nil {
		env, err := c.types.newEnvironment(in)
		if err != nil {
			return nil, fmt.Errorf("preparing CEL: %w", err)
		}
		c.environments[in] = env
	}
	return c.environments[in], nil
}

// Number compiles an expression of a number: an integer, a double, a Quantity, a bool (1 or 0) or a
// duration (nanoseconds), as in kwok.
func (c *Compiler) Number(source string, in Scope) (*Expression, error) {
	return c.compile(source, in, "a number or a Quantity", types.IntType, types.UintType, types.DoubleType, types.BoolType, types.DurationType, quantityType)
}

// Text compiles an expression of a string.
func (c *Compiler) Text(source string, in Scope) (*Expression, error) {
	return c.compile(source, in, "a string", types.StringType)
}

func (c *Compiler) compile(source string, in Scope, what string, results ...*types.Type) (*Expression, error) {
	if source == "" {
		return nil, errors.New("the expression is empty")
	}
	if len(source) > MaxExpression {
		return nil, fmt.Errorf("the expression has %d bytes, more than %d", len(source), MaxExpression)
	}
	env, err := c.environment(in)
	if err != nil {
		return nil, err
	}
	ast, issues := env.Compile(source)
	if err := issues.Err(); err != nil {
		return nil, fmt.Errorf("compiling the CEL expression %q: %w", source, err)
	}
	got := ast.OutputType()
	if got.Kind() != types.DynKind && !slices.ContainsFunc(results, got.IsExactType) {
		return nil, fmt.Errorf("the CEL expression %q returns %s, and must return %s", source, cel.FormatCELType(got), what)
	}
	program, err := env.Program(ast, cel.EvalOptions(cel.OptTrackCost), cel.CostLimit(maxCost))
	if err != nil {
		return nil, fmt.Errorf("compiling the CEL expression %q: %w", source, err)
	}
	return &Expression{source: source, program: program, types: c.types, varies: varies(ast)}, nil
}

// varies reports whether an expression has a function that depends on more than its arguments.
func varies(ast *cel.Ast) bool {
	found := false
	celast.PreOrderVisit(ast.NativeRep().Expr(), celast.NewExprVisitor(func(e celast.Expr) {
		found = found || e.Kind() == celast.IdentKind && e.AsIdent() == celtext.HiddenName
	}))
	return found
}

// String returns the source.
func (e *Expression) String() string { return e.source }

// Varies reports whether the result depends on anything but the node, the pod and the container.
func (e *Expression) Varies() bool { return e.varies }

// Number evaluates an expression of a number.
func (e *Expression) Number(in *Input) (float64, error) {
	out, err := e.eval(in)
	if err != nil {
		return 0, err
	}
	switch v := out.(type) {
	case types.Int:
		return float64(v), nil
	case types.Uint:
		return float64(v), nil
	case types.Double:
		return float64(v), nil
	case types.Duration:
		return float64(v.Duration), nil
	case types.Bool:
		if v {
			return 1, nil
		}
		return 0, nil
	case quantity:
		return v.float(), nil
	}
	return 0, fmt.Errorf("evaluating %q: it returned %s, which is no number", e.source, out.Type().TypeName())
}

// Text evaluates an expression of a string.
func (e *Expression) Text(in *Input) (string, error) {
	out, err := e.eval(in)
	if err != nil {
		return "", err
	}
	if s, ok := out.(types.String); ok {
		return string(s), nil
	}
	return "", fmt.Errorf("evaluating %q: it returned %s, which is no string", e.source, out.Type().TypeName())
}

func (e *Expression) eval(in *Input) (ref.Val, error) {
	if in.Budget != nil && *in.Budget == 0 {
		return nil, fmt.Errorf("evaluating %q: %w", e.source, ErrBudget)
	}
	out, details, err := e.program.Eval(&activation{in, adapter{e.types}})
	if in.Budget != nil && details != nil && details.ActualCost() != nil {
		*in.Budget -= min(*in.Budget, *details.ActualCost()+baseCost)
	}
	if err != nil {
		return nil, fmt.Errorf("evaluating %q: %w", e.source, err)
	}
	return out, nil
}

// activation resolves the variables of an expression.
type activation struct {
	in *Input
	adapter
}

// ResolveName implements cel.Activation.
func (a *activation) ResolveName(name string) (any, bool) {
	switch name {
	case "node":
		return a.NativeToValue(a.in.Node), a.in.Node != nil
	case "pod":
		return a.NativeToValue(a.in.Pod), a.in.Pod != nil
	case "container":
		return a.NativeToValue(a.in.Container), a.in.Container != nil
	case celtext.HiddenName:
		return input{Of: a.in}, true
	}
	return nil, false
}

// Parent implements cel.Activation.
func (a *activation) Parent() cel.Activation { return nil }
