package cellimits

import (
	"regexp"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/utils/lru"

	"minikcm.dev/minikcm/internal/regexcost"
)

const (
	// stepsPerCost is the number of steps in a unit of CEL's cost, where CEL's own estimate is
	// lower. CEL counts a fortieth for each byte and character of the pattern, which covers four
	// instructions a character.
	stepsPerCost = 160
	// maxSteps caps the steps of one call that matches a pattern: as many as the cost limit of
	// an expression allows. Each instruction of the compiled pattern takes a step of about five
	// nanoseconds for each byte of the string.
	maxSteps = stepsPerCost * celconfig.PerCallLimit
	// compilation is the number of bytes of a string whose matching takes as long as compiling
	// the pattern.
	compilation = 32
	// maxKnownPattern is the length of the patterns whose instructions are cached. Reading a
	// longer one takes less time than its cost allows.
	maxKnownPattern = 1024
)

// patternFunctions are the overloads whose second argument is a pattern.
var patternFunctions = map[string]func(re *regexp.Regexp, instructions int, args []ref.Val) ref.Val{
	overloads.Matches:            matches,
	overloads.MatchesString:      matches,
	"string_find_string":         find,
	"string_find_all_string":     findAll,
	"string_find_all_string_int": findAll,
}

// limitPatterns returns the options that limit the steps of patterns. A call that takes too many
// is not evaluated, and the steps of the others count as cost of the expression:
//
//	matches('(((x{0,10}){0,10}){0,10})*$') costs as much as any pattern of 27 characters in
//	CEL, but compiles to 3,000 instructions
func limitPatterns() []cel.ProgramOption {
	p := &patternLimit{known: lru.New(maxKnownPattern)}
	options := []cel.ProgramOption{cel.CustomDecorator(p.decorate)}
	for overload := range patternFunctions {
		options = append(options,
			cel.OptimizeRegex(&interpreter.RegexOptimization{Function: overload, OverloadID: overload, RegexIndex: 1, Factory: p.constant}),
			cel.CostTrackerOptions(interpreter.OverloadCostTracker(overload, p.cost)))
	}
	return options
}

// patternLimit counts the steps of calls; known has the instructions of short patterns.
type patternLimit struct {
	known *lru.Cache
}

// decorate replaces a call with one that is limited. Constant patterns are compiled later, by
// constant.
func (p *patternLimit) decorate(i interpreter.Interpretable) (interpreter.Interpretable, error) {
	call, ok := i.(interpreter.InterpretableCall)
	if !ok || patternFunctions[call.OverloadID()] == nil {
		return i, nil
	}
	apply := patternFunctions[call.OverloadID()]
	return interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), call.Args(), func(args ...ref.Val) ref.Val {
		text, pattern, err := textAndPattern(args)
		if err != nil {
			return err
		}
		size := p.instructions(pattern)
		if err := checkSteps(text, size); err != nil {
			return err
		}
		re, compileErr := regexp.Compile(pattern)
		if compileErr != nil {
			return invalid(call.OverloadID(), compileErr)
		}
		return apply(re, size, args)
	}), nil
}

// constant returns the call with its pattern compiled.
func (p *patternLimit) constant(call interpreter.InterpretableCall, pattern string) (interpreter.InterpretableCall, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	size, apply := p.instructions(pattern), patternFunctions[call.OverloadID()]
	return interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), call.Args(), func(args ...ref.Val) ref.Val {
		text, _, err := textAndPattern(args)
		if err != nil {
			return err
		}
		if err := checkSteps(text, size); err != nil {
			return err
		}
		return apply(re, size, args)
	}), nil
}

// cost returns the cost of a call, nil if CEL's estimate covers its steps.
func (p *patternLimit) cost(args []ref.Val, result ref.Val) *uint64 {
	if list, ok := result.(rescanned); ok {
		cost := uint64(list.steps)/stepsPerCost + 1
		return &cost
	}
	text, pattern, err := textAndPattern(args)
	if err != nil {
		return nil
	}
	size := p.instructions(pattern)
	if size <= 4*len(pattern) {
		return nil
	}
	cost := uint64(size*(len(text)+compilation))/stepsPerCost + 1
	return &cost
}

// instructions returns the instructions of a pattern, 0 for one that does not compile.
func (p *patternLimit) instructions(pattern string) int {
	if size, found := p.known.Get(pattern); found {
		return size.(int)
	}
	// A pattern that does not compile is an error of the call.
	size, _ := regexcost.Instructions(pattern)
	if len(pattern) <= maxKnownPattern {
		p.known.Add(pattern, size)
	}
	return size
}

// textAndPattern returns the first two arguments, or an error if they are not strings.
func textAndPattern(args []ref.Val) (text, pattern string, err ref.Val) {
	if len(args) < 2 {
		return "", "", types.NoSuchOverloadErr()
	}
	s, ok := args[0].(types.String)
	if !ok {
		return "", "", types.MaybeNoSuchOverloadErr(args[0])
	}
	re, ok := args[1].(types.String)
	if !ok {
		return "", "", types.MaybeNoSuchOverloadErr(args[1])
	}
	return string(s), string(re), nil
}

// checkSteps returns an error for a call of too many steps, nil otherwise.
func checkSteps(text string, instructions int) ref.Val {
	if len(text)*instructions <= maxSteps {
		return nil
	}
	return types.NewErr("matching a string of %d bytes with a pattern of %d instructions takes more than %d steps: shorten the string, or repeat less in the pattern", len(text), instructions, maxSteps)
}

// invalid returns the error for a pattern that does not compile, in the words of the function.
func invalid(overload string, err error) ref.Val {
	if overload == overloads.Matches || overload == overloads.MatchesString {
		return types.WrapErr(err)
	}
	return types.NewErr("Illegal regex: %v", err)
}

func matches(re *regexp.Regexp, _ int, args []ref.Val) ref.Val {
	return types.Bool(re.MatchString(string(args[0].(types.String))))
}

func find(re *regexp.Regexp, _ int, args []ref.Val) ref.Val {
	return types.String(re.FindString(string(args[0].(types.String))))
}
