package stages

import (
	"fmt"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/ext"

	"minikcm.dev/minikcm/internal/celtext"
)

// maxCost caps the cost of one evaluation of a CEL expression, as upstream counts it.
const maxCost = 1_000_000

// program is a CEL expression over self, the object.
type program struct {
	source  string
	program cel.Program
}

func newProgram(source string) (*program, error) {
	if len(source) > maxExpression {
		return nil, fmt.Errorf("an expression has %d bytes, more than %d", len(source), maxExpression)
	}
	env, err := cel.NewCustomEnv(
		celtext.StdLib(), celtext.Matches(), cel.Variable("self", cel.DynType), ext.Strings(), celtext.Replace(), celtext.Join(), cel.OptionalTypes(),
	)
	if err != nil {
		return nil, fmt.Errorf("preparing CEL: %w", err)
	}
	ast, issues := env.Compile(source)
	if err := issues.Err(); err != nil {
		return nil, fmt.Errorf("compiling the CEL expression %q: %w", source, err)
	}
	compiled, err := env.Program(ast, cel.EvalOptions(cel.OptTrackCost), cel.CostLimit(maxCost))
	if err != nil {
		return nil, fmt.Errorf("compiling the CEL expression %q: %w", source, err)
	}
	return &program{source, compiled}, nil
}

// run returns a string, bool, int64, float64, duration or time, or another value as it is.
func (p *program) run(data any) (any, error) {
	out, _, err := p.program.Eval(map[string]any{"self": data})
	if err != nil {
		return nil, fmt.Errorf("evaluating %q: %w", p.source, err)
	}
	if out == types.NullValue {
		return nil, nil
	}
	switch v := out.Value().(type) {
	case uint64:
		return int64(v), nil
	case time.Time, time.Duration:
		return v, nil
	}
	return out.Value(), nil
}
