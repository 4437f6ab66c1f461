package validation

import (
	celgo "github.com/google/cel-go/cel"
	"k8s.io/apimachinery/pkg/util/validation/field"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// expressions compiles the CEL expressions of one object, each of which may use the
// variables compiled before it. The environment takes some milliseconds to build, which
// is avoided for an object without expressions. The zero value is ready to use.
type expressions struct {
	compiler *plugincel.CompositedCompiler
	err      error
	// declared are the optional variables that expressions may use.
	declared plugincel.OptionalVariableDeclarations
}

// expression is a text and the types that it may evaluate to.
type expression struct {
	name, text string
	types      []*celgo.Type
}

func (e expression) GetName() string            { return e.name }
func (e expression) GetExpression() string      { return e.text }
func (e expression) ReturnTypes() []*celgo.Type { return e.types }

func (e *expressions) ready() bool {
	if e.compiler == nil && e.err == nil {
		e.compiler, e.err = plugincel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	}
	return e.err == nil
}

// check compiles a text that may evaluate to one of types, with declared as the
// optional variables.
func (e *expressions) check(p *field.Path, text string, declared plugincel.OptionalVariableDeclarations, types ...*celgo.Type) field.ErrorList {
	if !e.ready() {
		return field.ErrorList{field.InternalError(p, e.err)}
	}
	return compiled(p, text, e.compiler.CompileCELExpression(expression{text: text, types: types}, declared, environment.NewExpressions))
}

// variable compiles a text whose value later expressions can use by name.
func (e *expressions) variable(p *field.Path, name, text string) field.ErrorList {
	if !e.ready() {
		return field.ErrorList{field.InternalError(p, e.err)}
	}
	v := expression{name: name, text: text, types: []*celgo.Type{celgo.AnyType, celgo.DynType}}
	return compiled(p, text, e.compiler.CompileAndStoreVariable(v, e.declared, environment.NewExpressions))
}

func compiled(p *field.Path, text string, result plugincel.CompilationResult) field.ErrorList {
	if result.Error == nil {
		return nil
	}
	switch err := result.Error; err.Type {
	case apiservercel.ErrorTypeRequired:
		return field.ErrorList{field.Required(p, err.Detail)}
	case apiservercel.ErrorTypeInvalid:
		return field.ErrorList{field.Invalid(p, text, err.Detail)}
	}
	return field.ErrorList{field.InternalError(p, result.Error)}
}
