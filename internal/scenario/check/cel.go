package check

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apiserver/pkg/cel/environment"
)

// environmentOf returns the CEL environment of expressions: Kubernetes' environment and the
// variables that every expression may use. It is made once, since that takes milliseconds.
var environmentOf = sync.OnceValues(func() (*celgo.Env, error) {
	base, err := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).Env(environment.StoredExpressions)
	if err != nil {
		return nil, fmt.Errorf("making the environment of CEL expressions: %w", err)
	}
	return base.Extend(
		celgo.Variable("now", celgo.TimestampType),
		celgo.Variable("elapsed", celgo.DurationType),
		celgo.Variable("vars", celgo.MapType(celgo.StringType, celgo.StringType)),
		celgo.Variable("remembered", celgo.MapType(celgo.StringType, celgo.DynType)),
		celgo.Variable("metrics", celgo.MapType(celgo.StringType, celgo.DynType)),
	)
})

// Expression is a compiled CEL expression.
type Expression struct {
	Text    string
	program celgo.Program
	// Metrics says that the expression reads metrics, which must then be in World.
	Metrics bool
	// boolean says that the value may be true or false.
	boolean bool
}

// Compile compiles an expression that may name what is given, beside what all may: now
// (the cluster's time), elapsed (since the run's start), vars, remembered, metrics.
func Compile(text string, given []string) (*Expression, error) {
	env, err := environmentFor(given)
	if err != nil {
		return nil, err
	}
	ast, issues := env.Compile(text)
	if err := issues.Err(); err != nil {
		return nil, fmt.Errorf("CEL: %w", err)
	}
	program, err := env.Program(ast, celgo.InterruptCheckFrequency(100))
	if err != nil {
		return nil, fmt.Errorf("CEL: %w", err)
	}
	kind := ast.OutputType()
	e := &Expression{Text: text, program: program, boolean: kind.IsExactType(celgo.BoolType) || kind.IsExactType(celgo.DynType)}
	for _, reference := range ast.NativeRep().ReferenceMap() {
		e.Metrics = e.Metrics || reference.Name == "metrics"
	}
	return e, nil
}

// environmentFor returns the environment of expressions with given variables.
func environmentFor(given []string) (*celgo.Env, error) {
	env, err := environmentOf()
	if err != nil {
		return nil, err
	}
	var variables []celgo.EnvOption
	for _, name := range given {
		variables = append(variables, celgo.Variable(name, celgo.DynType))
	}
	if env, err = env.Extend(variables...); err != nil {
		return nil, fmt.Errorf("declaring %v: %w", given, err)
	}
	return env, nil
}

// CompileCheck compiles an expression. holds says that it must hold, and so that it must be
// true or false.
func CompileCheck(text string, given []string, holds bool) error {
	e, err := Compile(text, given)
	if err == nil && holds && !e.boolean {
		err = fmt.Errorf("CEL: %s is no condition: compare it with something, as in size(pods) == 3", text)
	}
	return err
}

// World holds the values of the variables that every expression may use, besides its own given
// ones.
type World struct {
	Now        time.Time
	Elapsed    time.Duration
	Vars       map[string]string
	Remembered map[string]any
	// Metrics are the values of all series of a metric, by its name: a list of
	// {labels, value}.
	Metrics map[string]any
}

func (w *World) bindings(given map[string]any) map[string]any {
	all := map[string]any{
		"now": w.Now, "elapsed": w.Elapsed, "vars": orEmpty(w.Vars), "remembered": orEmpty(w.Remembered), "metrics": orEmpty(w.Metrics),
	}
	maps.Copy(all, given)
	return all
}

func orEmpty[V any](m map[string]V) map[string]V {
	if m == nil {
		return map[string]V{}
	}
	return m
}

// Value evaluates the expression.
func (e *Expression) Value(w *World, given map[string]any) (any, error) {
	value, _, err := e.program.Eval(w.bindings(given))
	if err != nil {
		return nil, e.differs(fmt.Sprintf("%s: %v%s", e.Text, err, hintAt(err)), w, given)
	}
	return native(value), nil
}

func native(value ref.Val) any {
	switch v := value.(type) {
	case types.Int:
		return int64(v)
	case types.Double:
		return float64(v)
	}
	return value.Value()
}

// Holds returns nil if the expression is true. An expression that fails, such as for a field
// that is not set, does not hold.
func (e *Expression) Holds(w *World, given map[string]any) error {
	value, err := e.Value(w, given)
	if err != nil {
		return err
	}
	switch value {
	case true:
		return nil
	case false:
		return e.differs(e.Text+" is false", w, given)
	}
	return errors.New(e.Text + ": an expression that must hold says true or false, not " + text(value))
}

func (e *Expression) differs(text string, w *World, given map[string]any) *Differs {
	objects, others := objectsOf(given)
	return &Differs{Text: text, Diff: e.parts(w, given), Objects: objects, others: others, more: func(d *Differs) {
		found, numeric := culprits(e.Text, w, given)
		d.numeric = numeric
		d.blame(found)
	}}
}

// hintAt returns advice about a field that is not set.
func hintAt(err error) string {
	if field, missing := strings.CutPrefix(err.Error(), "no such key: "); missing {
		return fmt.Sprintf(": ask first whether it is there, as in has(object.%s)", field)
	}
	return ""
}

// maxListed bounds how many objects of a list are named.
const maxListed = 10

// objectsOf returns the objects that an expression was given, single objects first. others
// are the objects of long lists, of which only those matter that are not as expected.
func objectsOf(given map[string]any) (objects, others []*unstructured.Unstructured) {
	var listed []*unstructured.Unstructured
	for _, name := range slices.Sorted(maps.Keys(given)) {
		switch value := given[name].(type) {
		case map[string]any:
			objects = append(objects, &unstructured.Unstructured{Object: value})
		case []any:
			items := itemsOf(value)
			if len(value) > maxNearest {
				others = append(others, items[:min(len(items), maxLooked)]...)
				continue
			}
			listed = append(listed, items...)
		}
	}
	return append(objects, listed...), others
}

func itemsOf(list []any) []*unstructured.Unstructured {
	var items []*unstructured.Unstructured
	for _, item := range list {
		if object, ok := item.(map[string]any); ok {
			items = append(items, &unstructured.Unstructured{Object: object})
		}
	}
	return items
}

// namesOf returns the names of a list's objects, if the list is short and names help.
func namesOf(list []any) string {
	var names []string
	for _, item := range list {
		if object, ok := item.(map[string]any); ok && len(list) <= maxListed && object["kind"] != "Event" {
			names = append(names, (&unstructured.Unstructured{Object: object}).GetName())
		}
	}
	if len(names) == 0 {
		return ""
	}
	return ": " + strings.Join(names, ", ")
}

// parts returns what the names in the expression stand for, if that is short.
func (e *Expression) parts(w *World, given map[string]any) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(given)) {
		switch value := given[name].(type) {
		case nil:
			out = append(out, name+" is null: there is none")
		case []any:
			out = append(out, fmt.Sprintf("%s has %d items%s", name, len(value), namesOf(value)))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.Remembered)) {
		out = append(out, fmt.Sprintf("remembered.%s is %s", name, text(w.Remembered[name])))
	}
	return out
}
