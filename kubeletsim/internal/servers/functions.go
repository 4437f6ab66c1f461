package servers

import (
	"encoding/json"
	"net/textproto"
	"reflect"
	"strings"

	"github.com/google/cel-go/cel"
	celast "github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"minikcm.dev/minikcm/internal/celtext"
	"minikcm.dev/minikcm/internal/nesting"
)

// input is an Input as a value of CEL.
type input = celtext.Hidden[Input]

// maxJSONDepth bounds the nesting of JSON that is read or written.
const maxJSONDepth = 64

// pureFunctions are the functions whose results follow from their arguments.
func pureFunctions() []cel.EnvOption {
	list, text := cel.ListType(cel.StringType), cel.StringType
	return []cel.EnvOption{
		cel.Function("flag", cel.MemberOverload("list_flag", []*cel.Type{list, text, text}, text, cel.FunctionBinding(flag))),
		cel.Function("headerName", cel.Overload("header_name_string", []*cel.Type{text}, text, cel.UnaryBinding(func(v ref.Val) ref.Val {
			s, ok := v.(types.String)
			if !ok {
				return types.MaybeNoSuchOverloadErr(v)
			}
			return types.String(textproto.CanonicalMIMEHeaderKey(string(s)))
		}))),
		cel.Function("json", cel.Overload("json_any", []*cel.Type{cel.DynType}, text, cel.UnaryBinding(func(v ref.Val) ref.Val {
			data, err := appendJSON(nil, v, 0)
			if err != nil {
				return types.WrapErr(err)
			}
			return types.String(data)
		}))),
		cel.Function("parseJSON", cel.Overload("parse_json_string", []*cel.Type{text}, cel.DynType, cel.UnaryBinding(func(v ref.Val) ref.Val {
			s, ok := v.(types.String)
			if !ok {
				return types.MaybeNoSuchOverloadErr(v)
			}
			if err := nesting.JSON([]byte(s), maxJSONDepth); err != nil {
				return types.WrapErr(err)
			}
			var parsed any
			if err := json.Unmarshal([]byte(s), &parsed); err != nil {
				return types.WrapErr(err)
			}
			return sorting{types.DefaultTypeAdapter}.NativeToValue(parsed)
		}))),
	}
}

// flag returns the value of a flag among arguments, which begins with one or two dashes, or what stands for it if it is not there.
func flag(args ...ref.Val) ref.Val {
	list, err := args[0].ConvertToNative(reflect.TypeFor[[]string]())
	name, ok := args[1].(types.String)
	if err != nil || !ok {
		return types.MaybeNoSuchOverloadErr(args[0])
	}
	words := list.([]string)
	for i, word := range words {
		if !strings.HasPrefix(word, "-") {
			continue
		}
		word, value, joined := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(word, "-"), "-"), "=")
		switch {
		case word != string(name):
		case joined:
			return types.String(value)
		case i+1 < len(words):
			return types.String(words[i+1])
		default:
			return types.String("")
		}
	}
	return args[2]
}

// fileFunctions are the functions that look at the container's files: file(path) and exists(path).
func fileFunctions() []cel.EnvOption {
	read := func(do func(text string, err error) ref.Val) cel.OverloadOpt {
		return cel.BinaryBinding(func(in, path ref.Val) ref.Val {
			i, isInput := in.(input)
			name, isText := path.(types.String)
			if !isInput || !isText || i.Of.Read == nil {
				return types.NewErr("the container has no files")
			}
			return do(i.Of.Read(string(name)))
		})
	}
	args := []*cel.Type{celtext.HiddenType, cel.StringType}
	return []cel.EnvOption{
		cel.Variable(celtext.HiddenName, celtext.HiddenType), withInput("file"), withInput("exists"),
		cel.Function("file", cel.Overload("file_input_string", args, cel.StringType, read(func(text string, err error) ref.Val {
			if err != nil {
				return types.WrapErr(err)
			}
			return types.String(text)
		}))),
		cel.Function("exists", cel.Overload("exists_input_string", args, cel.BoolType, read(func(_ string, err error) ref.Val { return types.Bool(err == nil) }))),
	}
}

// withInput returns the macro that passes the input to a function with one argument.
func withInput(name string) cel.EnvOption {
	return cel.Macros(cel.GlobalMacro(name, 1, func(f cel.MacroExprFactory, _ celast.Expr, args []celast.Expr) (celast.Expr, *cel.Error) {
		return f.NewCall(name, f.NewIdent(celtext.HiddenName), args[0]), nil
	}))
}
