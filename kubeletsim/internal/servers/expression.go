package servers

import (
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/google/cel-go/cel"
	celast "github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/ext"

	"minikcm.dev/minikcm/internal/celtext"
)

const (
	// maxExpression caps the bytes of an expression.
	maxExpression = 8 << 10
	// maxCost caps the cost of one evaluation, as CEL counts it, and requestCost the cost of all for one request.
	maxCost     = 500_000
	requestCost = 2_000_000
	// baseCost is the fixed cost of an evaluation.
	baseCost = 10
)

// maxRange caps the elements that lists.range returns.
const maxRange = 10_000

// errBudget is the error of an evaluation for which nothing of requestCost is left.
var errBudget = errors.New("the expressions cost too much together")

// Input holds what expressions see.
type Input struct {
	Request   *Request
	Container *Container
	Pod       *Pod
	Now       time.Time
	State     map[string]any
	Calls     map[string]*Reply
	Run       *Output
	// Read returns the content of a file of the container; nil: files cannot be read.
	Read func(path string) (string, error)

	spent uint64
}

// scope is the place of an expression, which decides its variables.
type scope int

const (
	// ofContainer has only what follows from the pod: container and pod.
	ofContainer scope = iota
	ofRequest
)

// needs says what an expression depends on.
type needs struct {
	// request means more than the container and the pod, number the count of requests, machine the container's files or
	// the whole of its environment.
	request, number, machine bool
}

func (n *needs) add(other needs) {
	n.request, n.number, n.machine = n.request || other.request, n.number || other.number, n.machine || other.machine
}

// expression is a compiled expression.
type expression struct {
	source  string
	program cel.Program
	output  *cel.Type
	needs   needs
}

// environments remembers the environment of each scope, which takes some milliseconds to make.
var environments sync.Map

func environment(in scope) (*cel.Env, error) {
	if env, ok := environments.Load(in); ok {
		return env.(*cel.Env), nil
	}
	env, err := newEnvironment(in)
	if err != nil {
		return nil, fmt.Errorf("preparing CEL: %w", err)
	}
	environments.Store(in, env)
	return env, nil
}

func newEnvironment(in scope) (*cel.Env, error) {
	object := func(of reflect.Type) *cel.Type { return cel.ObjectType(of.String()) }
	request, container, pod, reply, output := reflect.TypeFor[Request](), reflect.TypeFor[Container](), reflect.TypeFor[Pod](), reflect.TypeFor[Reply](), reflect.TypeFor[Output]()
	options := []cel.EnvOption{
		celtext.StdLib(), celtext.Matches(), ext.Strings(), celtext.Replace(), celtext.Join(), ext.Encoders(), ext.TwoVarComprehensions(), ext.Lists(ext.ListsMaxRangeSize(maxRange)), cel.OptionalTypes(),
		ext.NativeTypes(ext.ParseStructTags(true), request, container, pod, reply, output), sortMaps,
		cel.Variable("container", object(container)), cel.Variable("pod", object(pod)),
	}
	options = append(options, pureFunctions()...)
	if in == ofRequest {
		options = append(options, cel.Variable("request", object(request)), cel.Variable("now", cel.TimestampType), cel.Variable("state", cel.MapType(cel.StringType, cel.DynType)),
			cel.Variable("calls", cel.MapType(cel.StringType, object(reply))), cel.Variable("run", object(output)))
		options = append(options, fileFunctions()...)
	}
	return cel.NewCustomEnv(options...)
}

// compile compiles an expression.
func compile(source string, in scope) (*expression, error) {
	if len(source) > maxExpression {
		return nil, fmt.Errorf("an expression has %d bytes, more than %d", len(source), maxExpression)
	}
	env, err := environment(in)
	if err != nil {
		return nil, err
	}
	ast, issues := env.Compile(source)
	if err := issues.Err(); err != nil {
		return nil, fmt.Errorf("compiling the CEL expression %q: %w", source, err)
	}
	program, err := env.Program(ast, cel.EvalOptions(cel.OptTrackCost), cel.CostLimit(maxCost), sortFolds(ast))
	if err != nil {
		return nil, fmt.Errorf("compiling the CEL expression %q: %w", source, err)
	}
	return &expression{source: source, program: program, output: ast.OutputType(), needs: needsOf(ast)}, nil
}

// needsOf returns what an expression depends on.
func needsOf(ast *cel.Ast) needs {
	var n needs
	celast.PreOrderVisit(ast.NativeRep().Expr(), celast.NewExprVisitor(func(e celast.Expr) {
		switch e.Kind() {
		case celast.IdentKind:
			switch e.AsIdent() {
			case celtext.HiddenName:
				n.request, n.machine = true, true
			case "request", "now", "state", "calls", "run":
				n.request = true
			}
		case celast.SelectKind:
			of := e.AsSelect().Operand()
			if of.Kind() != celast.IdentKind {
				return
			}
			n.number = n.number || of.AsIdent() == "request" && e.AsSelect().FieldName() == "number"
			n.machine = n.machine || of.AsIdent() == "container" && e.AsSelect().FieldName() == "env"
		}
	}))
	return n
}

// eval evaluates the expression.
func (e *expression) eval(in *Input) (ref.Val, error) {
	if in.spent >= requestCost {
		return nil, errBudget
	}
	out, details, err := e.program.Eval(&activation{in})
	in.spent += baseCost
	if details != nil && details.ActualCost() != nil {
		in.spent += *details.ActualCost()
	}
	if err != nil {
		return nil, fmt.Errorf("evaluating %q: %w", e.source, err)
	}
	return out, nil
}

// activation resolves the variables of an expression.
type activation struct{ *Input }

// ResolveName implements cel.Activation.
func (a *activation) ResolveName(name string) (any, bool) {
	switch name {
	case "request":
		return a.Request, a.Request != nil
	case "container":
		return a.Container, true
	case "pod":
		return a.Pod, true
	case "now":
		return types.Timestamp{Time: a.Now.UTC()}, true
	case "state":
		return a.State, true
	case "calls":
		return a.calls(), true
	case "run":
		if a.Run == nil {
			return &Output{}, true
		}
		return a.Run, true
	case celtext.HiddenName:
		return input{Of: a.Input}, true
	}
	return nil, false
}

// calls returns the answers to calls as a map of CEL.
func (a *activation) calls() any {
	env, err := environment(ofRequest)
	if err != nil {
		return types.WrapErr(err)
	}
	all := map[ref.Val]ref.Val{}
	for name, reply := range a.Calls {
		all[types.String(name)] = env.CELTypeAdapter().NativeToValue(reply)
	}
	return sorted{types.NewRefValMap(env.CELTypeAdapter(), all)}
}

// Parent implements cel.Activation.
func (a *activation) Parent() cel.Activation { return nil }
