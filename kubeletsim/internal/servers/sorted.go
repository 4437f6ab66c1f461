package servers

import (
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	celast "github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// sorting makes values of CEL whose maps have an order, so that equal requests get equal answers.
type sorting struct{ types.Adapter }

// sortMaps gives the maps of an environment an order.
func sortMaps(env *cel.Env) (*cel.Env, error) {
	return cel.CustomTypeAdapter(sorting{env.CELTypeAdapter()})(env)
}

// NativeToValue implements types.Adapter.
func (s sorting) NativeToValue(value any) ref.Val {
	switch m := value.(type) {
	case map[string]string:
		return sorted{types.NewStringStringMap(s, m)}
	case map[string][]string:
		return sorted{types.NewDynamicMap(s, m)}
	case map[string]any:
		return sorted{types.NewStringInterfaceMap(s, m)}
	case map[ref.Val]ref.Val:
		return sorted{types.NewRefValMap(s, m)}
	}
	return s.Adapter.NativeToValue(value)
}

// sortFolds gives the maps that comprehensions make an order: the adapter does not see these.
func sortFolds(ast *cel.Ast) cel.ProgramOption {
	folds := map[int64]bool{}
	celast.PreOrderVisit(ast.NativeRep().Expr(), celast.NewExprVisitor(func(e celast.Expr) {
		if e.Kind() == celast.ComprehensionKind {
			folds[e.ID()] = true
		}
	}))
	return cel.CustomDecoratorV2(func(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
		// What is looked up in a comprehension's result has its ID, too.
		if _, lookup := i.(interpreter.InterpretableAttribute); folds[i.ID()] && !lookup {
			i = sortedFold{i}
		}
		return i, nil
	})
}

// sortedFold is a comprehension. A map that it still builds has no order.
type sortedFold struct{ interpreter.InterpretableV2 }

// Exec implements interpreter.InterpretableV2.
func (f sortedFold) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	made := f.InterpretableV2.Exec(frame)
	if _, building := made.(traits.MutableMapper); building {
		return made
	}
	if m, ok := made.(traits.Mapper); ok {
		return sorted{m}
	}
	return made
}

// sorted is a map whose keys have an order.
type sorted struct{ traits.Mapper }

// Iterator implements traits.Iterable.
func (m sorted) Iterator() traits.Iterator {
	keys := &keyIterator{}
	for it := m.Mapper.Iterator(); it.HasNext() == types.True; {
		keys.keys = append(keys.keys, it.Next())
	}
	slices.SortFunc(keys.keys, func(a, b ref.Val) int {
		x, _ := textOf(a)
		y, _ := textOf(b)
		return strings.Compare(x, y)
	})
	return keys
}

// keyIterator iterates over the keys of a map.
type keyIterator struct {
	types.Null // for what nothing asks an iterator
	keys       []ref.Val
}

// HasNext implements traits.Iterator.
func (k *keyIterator) HasNext() ref.Val { return types.Bool(len(k.keys) > 0) }

// Next implements traits.Iterator.
func (k *keyIterator) Next() ref.Val {
	if len(k.keys) == 0 {
		return nil
	}
	next := k.keys[0]
	k.keys = k.keys[1:]
	return next
}
