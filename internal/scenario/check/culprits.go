package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// maxCulprits caps the objects that a failure names.
const maxCulprits = 10

// culprits returns the objects because of which an expression about lists has the value that it has:
// those for which the condition in a list's all, exists or filter decides it.
//
//	pods.all(p, p.status.phase == "Running")            is false: the pods for which the condition is
//	!pods.exists(p, p.status.phase == "Failed")         is false: the pods for which the condition is true
//	pods.filter(p, has(p.status.podIP)).size() >= 3     is false: the pods that the filter drops
//	pods.filter(p, has(p.status.podIP)).size() <= 3     is false: the pods that the filter keeps
//
// numeric reports that the number of objects is wrong: a comparison of a size is false.
func culprits(text string, w *World, given map[string]any) (found []*unstructured.Unstructured, numeric bool) {
	env, err := environmentFor(sortedKeys(given))
	if err != nil {
		return nil, false
	}
	if env, err = env.Extend(celgo.EnableMacroCallTracking()); err != nil {
		return nil, false
	}
	parsed, issues := env.Parse(text)
	if issues.Err() != nil {
		return nil, false
	}
	c := &culpritSearch{env: env, info: parsed.NativeRep().SourceInfo(), bindings: w.bindings(given)}
	c.visit(parsed.NativeRep().Expr(), anyNumber)
	return c.found[:min(len(c.found), maxCulprits)], c.numeric
}

// wrong says in which way a number is wrong.
type wrong int

const (
	anyNumber wrong = iota
	tooFew
	tooMany
)

type culpritSearch struct {
	env      *celgo.Env
	info     *ast.SourceInfo
	bindings map[string]any
	found    []*unstructured.Unstructured
	numeric  bool
}

// visit looks for macros in an expression, whose size, if it is a list, is wrong in some way.
func (c *culpritSearch) visit(e ast.Expr, size wrong) {
	if call, ok := c.info.GetMacroCall(e.ID()); ok {
		c.macro(call, size)
		return
	}
	switch e.Kind() {
	case ast.CallKind:
		call := e.AsCall()
		args := call.Args()
		if isComparison(call.FunctionName()) && (isSize(args[0]) || isSize(args[1])) && c.value(e) == types.False {
			c.numeric = true
		}
		for i, arg := range args {
			below := size
			if len(args) == 2 {
				below = c.compared(call.FunctionName(), args, i)
			}
			c.visit(arg, below)
		}
		if call.IsMemberFunction() {
			c.visit(call.Target(), size)
		}
	case ast.SelectKind:
		c.visit(e.AsSelect().Operand(), anyNumber)
	case ast.ListKind:
		for _, item := range e.AsList().Elements() {
			c.visit(item, anyNumber)
		}
	}
}

func isComparison(operator string) bool {
	switch operator {
	case operators.Equals, operators.NotEquals, operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals:
		return true
	}
	return false
}

func isSize(e ast.Expr) bool {
	return e.Kind() == ast.CallKind && e.AsCall().FunctionName() == "size"
}

// compared says in which way the i-th of two numbers that are compared is wrong, if the comparison is
// false.
func (c *culpritSearch) compared(operator string, args []ast.Expr, i int) wrong {
	few, many := tooFew, tooMany
	if i == 1 {
		few, many = many, few
	}
	switch operator {
	case operators.Greater, operators.GreaterEquals:
		return few
	case operators.Less, operators.LessEquals:
		return many
	case operators.Equals:
		left, leftOK := c.number(args[0])
		right, rightOK := c.number(args[1])
		switch {
		case !leftOK || !rightOK || left == right:
		case left < right:
			return few
		default:
			return many
		}
	}
	return anyNumber
}

// macro adds the items of the list because of which a macro has its value.
func (c *culpritSearch) macro(call ast.Expr, size wrong) {
	macro := call.AsCall()
	args := macro.Args()
	if !macro.IsMemberFunction() || len(args) != 2 || args[0].Kind() != ast.IdentKind {
		return
	}
	list, ok := c.value(macro.Target()).(traits.Lister)
	if !ok {
		return
	}
	holds := c.condition(args[0].AsIdent(), args[1])
	if holds == nil {
		return
	}
	var yes, no []*unstructured.Unstructured
	for i := range list.Size().(types.Int) {
		item := list.Get(i)
		object, isObject := item.Value().(map[string]any)
		if !isObject {
			continue
		}
		u := &unstructured.Unstructured{Object: object}
		if u.GetName() == "" {
			continue
		}
		if holds(object) {
			yes = append(yes, u)
		} else {
			no = append(no, u)
		}
	}
	switch macro.FunctionName() {
	case "all":
		c.add(no)
	case "exists", "exists_one", "existsOne":
		if len(yes) > 0 {
			c.add(yes)
		} else {
			c.add(no)
		}
	case "filter":
		if size == tooFew || size == anyNumber && len(yes) == 0 {
			c.add(no)
		} else {
			c.add(yes)
		}
	}
	c.visit(macro.Target(), size)
}

func (c *culpritSearch) add(objects []*unstructured.Unstructured) {
	for _, o := range objects {
		if !slices.ContainsFunc(c.found, func(other *unstructured.Unstructured) bool {
			return other.GetUID() == o.GetUID() && TitleOf(other) == TitleOf(o)
		}) {
			c.found = append(c.found, o)
		}
	}
}

// value evaluates a part of the expression; nil if that depends on the variable of another macro.
func (c *culpritSearch) value(e ast.Expr) any {
	program := c.program(c.env, e)
	if program == nil {
		return nil
	}
	value, _, err := program.Eval(c.bindings)
	if err != nil {
		return nil
	}
	return value
}

func (c *culpritSearch) number(e ast.Expr) (int64, bool) {
	n, ok := c.value(e).(types.Int)
	return int64(n), ok
}

// condition returns the condition of a macro as a function of an item; nil if it depends on the
// variable of another macro.
func (c *culpritSearch) condition(variable string, e ast.Expr) func(item map[string]any) bool {
	env, err := c.env.Extend(celgo.Variable(variable, celgo.DynType))
	if err != nil {
		return nil
	}
	program := c.program(env, e)
	if program == nil {
		return nil
	}
	bindings := maps.Clone(c.bindings)
	return func(item map[string]any) bool {
		bindings[variable] = item
		value, _, err := program.Eval(bindings)
		return err == nil && value == types.True
	}
}

func (c *culpritSearch) program(env *celgo.Env, e ast.Expr) celgo.Program {
	text, err := celgo.ExprToString(e, c.info)
	if err != nil {
		return nil
	}
	compiled, issues := env.Compile(text)
	if issues.Err() != nil {
		return nil
	}
	program, err := env.Program(compiled, celgo.InterruptCheckFrequency(100))
	if err != nil {
		return nil
	}
	return program
}

// violatedBy names objects in one line.
func violatedBy(objects []*unstructured.Unstructured) string {
	var names []string
	for _, o := range objects[:min(len(objects), maxNearest)] {
		names = append(names, TitleOf(o))
	}
	text := "because of " + strings.Join(names, ", ")
	if more := len(objects) - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
