package crd

import (
	"fmt"
	"sync"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/cel/environment"

	"minikcm.dev/minikcm/internal/regexcost"
)

const (
	// assumedGrowth is the number of instructions that a character of a pattern compiles to
	// in the cost of rules: CEL counts the characters.
	assumedGrowth = 4
	// unknownGrowth is assumed of a pattern that a rule computes.
	unknownGrowth = 200
	// maxComputedPattern is the length of the strings in an object that are taken for
	// patterns, if a rule computes its pattern.
	maxComputedPattern = 4096
)

// parser reads rules. Parsing needs no types of the schema.
var parser = sync.OnceValues(func() (*celgo.Env, error) {
	return environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).Env(environment.StoredExpressions)
})

// ruleCost describes the cost of the patterns in rules.
type ruleCost struct {
	// growth is the most instructions that a character of a computed pattern compiles to, 0
	// without one.
	growth int
	// largest is the number of instructions of the largest pattern.
	largest int
	// computed reports that a rule computes a pattern.
	computed bool
}

func (c ruleCost) with(other ruleCost) ruleCost {
	return ruleCost{max(c.growth, other.growth), max(c.largest, other.largest), c.computed || other.computed}
}

// costlier returns the factor by which rules that compute patterns may cost more than CEL says, at
// least 1. A rule may take so much less of the budget: compiling a computed pattern is not counted.
// The steps of all patterns are (internal/cellimits).
func costlier(s *structuralschema.Structural) uint64 {
	return uint64(max(1, schemaCost(s).growth/assumedGrowth))
}

// schemaCost returns the cost of all rules in a schema.
func schemaCost(s *structuralschema.Structural) ruleCost {
	if s == nil {
		return ruleCost{}
	}
	cost := rulesCost(s.XValidations).with(schemaCost(s.Items))
	if s.AdditionalProperties != nil {
		cost = cost.with(schemaCost(s.AdditionalProperties.Structural))
	}
	for name := range s.Properties {
		property := s.Properties[name]
		cost = cost.with(schemaCost(&property))
	}
	return cost.with(nestedCost(s.ValueValidation))
}

// nestedCost returns the cost of the rules that are nested in a value's validation.
func nestedCost(v *structuralschema.ValueValidation) ruleCost {
	cost := ruleCost{}
	if v == nil {
		return cost
	}
	for _, list := range [][]structuralschema.NestedValueValidation{v.AllOf, v.AnyOf, v.OneOf} {
		for i := range list {
			cost = cost.with(costOfNested(&list[i]))
		}
	}
	return cost.with(costOfNested(v.Not))
}

func costOfNested(n *structuralschema.NestedValueValidation) ruleCost {
	if n == nil {
		return ruleCost{}
	}
	cost := rulesCost(n.XValidations).with(nestedCost(&n.ValueValidation)).with(costOfNested(n.Items)).with(costOfNested(n.AdditionalProperties))
	for name := range n.Properties {
		property := n.Properties[name]
		cost = cost.with(costOfNested(&property))
	}
	return cost
}

// rulesCost returns the cost of the rules of one value.
func rulesCost(rules apiextensionsv1.ValidationRules) ruleCost {
	cost := ruleCost{}
	for i := range rules {
		cost = cost.with(expressionCost(rules[i].Rule)).with(expressionCost(rules[i].MessageExpression))
	}
	return cost
}

// expressionCost returns the cost of an expression; 0 without patterns, or if it does not
// parse.
func expressionCost(expression string) ruleCost {
	cost := ruleCost{}
	if expression == "" {
		return cost
	}
	env, err := parser()
	if err != nil {
		return ruleCost{growth: unknownGrowth, computed: true}
	}
	parsed, issues := env.Parse(expression)
	if issues.Err() != nil {
		return cost
	}
	ast.PreOrderVisit(parsed.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.CallKind {
			cost = cost.with(callCost(e.AsCall()))
		}
	}))
	return cost
}

// callCost returns the cost of a call that matches a pattern, else 0.
func callCost(call ast.CallExpr) ruleCost {
	args := call.Args()
	switch call.FunctionName() {
	case "matches", "find", "findAll":
	default:
		return ruleCost{}
	}
	if !call.IsMemberFunction() && len(args) > 0 { // matches(text, pattern)
		args = args[1:]
	}
	if len(args) == 0 {
		return ruleCost{}
	}
	pattern, constant := "", args[0].Kind() == ast.LiteralKind
	if constant {
		pattern, constant = args[0].AsLiteral().Value().(string)
	}
	if !constant {
		return ruleCost{growth: unknownGrowth, computed: true}
	}
	size, err := regexcost.Instructions(pattern)
	if err != nil || pattern == "" {
		return ruleCost{}
	}
	return ruleCost{largest: size}
}

// check returns an error if a call in a rule of value may take more than maxPatternSteps:
// the largest pattern with the longest string.
func (c ruleCost) check(path *field.Path, value any) *field.Error {
	if c.largest == 0 && !c.computed {
		return nil
	}
	longest, largest := 0, c.largest
	eachString(value, func(text string) {
		longest = max(longest, len(text))
		if c.computed && len(text) <= maxComputedPattern {
			if size, err := regexcost.Instructions(text); err == nil {
				largest = max(largest, size)
			}
		}
	})
	if longest*largest <= maxPatternSteps {
		return nil
	}
	return field.Invalid(path, field.OmitValueType{}, fmt.Sprintf(
		"matching a string with a pattern in the schema's rules may take more than %d steps, here a string of %d bytes with a pattern of %d instructions: shorten the string, or repeat less in the pattern",
		maxPatternSteps, longest, largest))
}

// eachString calls use for the strings in a JSON value, including the keys of objects.
func eachString(value any, use func(string)) {
	switch typed := value.(type) {
	case string:
		use(typed)
	case []any:
		for _, item := range typed {
			eachString(item, use)
		}
	case map[string]any:
		for key, item := range typed {
			use(key)
			eachString(item, use)
		}
	}
}
