package celtext

import (
	"fmt"
	"reflect"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// HiddenName is the variable that has a Hidden. No expression can name it: the macros of the functions that need it pass it.
const HiddenName = "@input"

// HiddenType is the type of a Hidden in CEL.
var HiddenType = types.NewOpaqueType("input")

// Hidden is the input of an evaluation as a value of CEL.
type Hidden[T any] struct{ Of *T }

// ConvertToNative implements ref.Val.
func (Hidden[T]) ConvertToNative(t reflect.Type) (any, error) {
	return nil, fmt.Errorf("the input cannot be converted to %s", t)
}

// ConvertToType implements ref.Val.
func (Hidden[T]) ConvertToType(t ref.Type) ref.Val {
	return types.NewErr("the input cannot be converted to %s", t.TypeName())
}

// Equal implements ref.Val.
func (h Hidden[T]) Equal(other ref.Val) ref.Val { return types.Bool(other == ref.Val(h)) }

// Type implements ref.Val.
func (Hidden[T]) Type() ref.Type { return HiddenType }

// Value implements ref.Val.
func (h Hidden[T]) Value() any { return h.Of }
