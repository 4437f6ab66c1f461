package cellimits

import (
	"regexp"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"minikcm.dev/minikcm/internal/regexcost"
)

// maxSteps limits the steps of one call: a step for each byte of the string and each
// instruction of the compiled pattern, about five nanoseconds. It is the limit of the patterns
// of custom kinds.
const maxSteps = 300_000_000

// matcher is a function that matches a string, its first argument, with a pattern, its second.
type matcher struct {
	// overloads are the names of its forms.
	overloads []string
	match     func(re *regexp.Regexp, text string, args []ref.Val) ref.Val
	// invalid returns the error for a pattern that does not compile.
	invalid func(err error) ref.Val
}

// matchers are the functions by name: matches is CEL's own, the others are Kubernetes'.
var matchers = map[string]*matcher{
	"matches": {
		overloads: []string{"matches", "matches_string"},
		match:     func(re *regexp.Regexp, text string, _ []ref.Val) ref.Val { return types.Bool(re.MatchString(text)) },
		invalid:   func(err error) ref.Val { return types.WrapErr(err) },
	},
	"find": {
		overloads: []string{"string_find_string"},
		match:     func(re *regexp.Regexp, text string, _ []ref.Val) ref.Val { return types.String(re.FindString(text)) },
		invalid:   illegal,
	},
	"findAll": {
		overloads: []string{"string_find_all_string", "string_find_all_string_int"},
		match:     findAll, invalid: illegal,
	},
}

func illegal(err error) ref.Val { return types.NewErr("Illegal regex: %v", err) }

func findAll(re *regexp.Regexp, text string, args []ref.Val) ref.Val {
	most := int64(-1)
	if len(args) > 2 {
		n, ok := args[2].Value().(int64)
		if !ok {
			return types.MaybeNoSuchOverloadErr(args[2])
		}
		most = n
	}
	return types.NewStringList(types.DefaultTypeAdapter, re.FindAllString(text, int(most)))
}

// limitPatterns returns the options that replace the calls of matchers in compiled
// expressions: those with a constant pattern by the optimization that compiles it once, the
// others by a decorator. cel-go prefers an optimization of an overload to its own of the function.
func limitPatterns() []cel.ProgramOption {
	var constant []*interpreter.RegexOptimization
	for name, m := range matchers {
		for _, overload := range m.overloads {
			constant = append(constant, &interpreter.RegexOptimization{Function: name, OverloadID: overload, RegexIndex: 1, Factory: m.precompiled})
		}
	}
	return []cel.ProgramOption{cel.CustomDecoratorV2(decorate), cel.OptimizeRegex(constant...)}
}

// decorate replaces the calls whose patterns are computed.
func decorate(node interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	call, ok := node.(interpreter.InterpretableCall)
	if !ok {
		return node, nil
	}
	m, ok := matchers[call.Function()]
	if !ok {
		return node, nil
	}
	return m.call(call, func(pattern string) (*compiled, error) { return compile(pattern) }), nil
}

// precompiled replaces a call with a constant pattern.
func (m *matcher) precompiled(call interpreter.InterpretableCall, pattern string) (interpreter.InterpretableCall, error) {
	c, err := compile(pattern)
	if err == nil {
		_, err = c.regexp()
	}
	if err != nil {
		return nil, err
	}
	return m.call(call, func(string) (*compiled, error) { return c, nil }), nil
}

// call returns a call that checks its cost first.
func (m *matcher) call(call interpreter.InterpretableCall, compile func(pattern string) (*compiled, error)) interpreter.InterpretableCall {
	return interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), call.Args(), func(args ...ref.Val) ref.Val {
		if len(args) < 2 {
			return types.NoSuchOverloadErr()
		}
		text, ok := args[0].Value().(string)
		if !ok {
			return types.MaybeNoSuchOverloadErr(args[0])
		}
		pattern, ok := args[1].Value().(string)
		if !ok {
			return types.MaybeNoSuchOverloadErr(args[1])
		}
		c, err := compile(pattern)
		if err != nil {
			return m.invalid(err)
		}
		if len(text) > maxSteps/max(c.instructions, 1) {
			return types.NewErr("%s: matching a string of %d bytes with a pattern of %d instructions may take more than %d steps: shorten the string, or repeat less in the pattern",
				call.Function(), len(text), c.instructions, maxSteps)
		}
		re, err := c.regexp()
		if err != nil {
			return m.invalid(err)
		}
		return m.match(re, text, args)
	})
}

// compiled is a pattern with its cost. It is compiled only if the cost allows its use.
type compiled struct {
	instructions int
	regexp       func() (*regexp.Regexp, error)
}

// compile returns a pattern with its cost.
func compile(pattern string) (*compiled, error) {
	instructions, err := regexcost.Instructions(pattern)
	if err != nil {
		// The error of the compiler, which users know.
		if _, compileErr := regexp.Compile(pattern); compileErr != nil {
			err = compileErr
		}
		return nil, err
	}
	return &compiled{instructions: instructions, regexp: sync.OnceValues(func() (*regexp.Regexp, error) { return regexp.Compile(pattern) })}, nil
}
