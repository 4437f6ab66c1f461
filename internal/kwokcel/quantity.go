package kwokcel

import (
	"fmt"
	"math"
	"reflect"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apimachinery/pkg/api/resource"

	quantities "minikcm.dev/minikcm/internal/quantity"
)

// quantityType is the type of quantities, which are numbers in all but their type: sums of two, and
// products with numbers, are quantities.
var quantityType = types.NewObjectType("Quantity",
	traits.AdderType|traits.ComparerType|traits.DividerType|traits.MultiplierType|traits.NegatorType|traits.SubtractorType)

type quantity struct{ amount resource.Quantity }

func quantityOf(text ref.Val) ref.Val {
	s, ok := text.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(text)
	}
	amount, err := quantities.Parse(string(s))
	if err != nil {
		return types.WrapErr(err)
	}
	return quantity{amount}
}

// ofNumber returns the quantity nearest to a number, exact to a billionth where that fits.
func ofNumber(v float64) ref.Val {
	switch size := math.Abs(v); {
	case math.IsNaN(v) || size > 9e18:
		return types.NewErr("%v is not a quantity", v)
	case size < 9e9:
		return quantity{*resource.NewScaledQuantity(int64(math.Round(v*1e9)), resource.Nano)}
	case size < 9e15:
		return quantity{*resource.NewMilliQuantity(int64(math.Round(v*1e3)), resource.DecimalSI)}
	}
	return quantity{*resource.NewQuantity(int64(v), resource.DecimalSI)}
}

func (q quantity) float() float64 { return q.amount.AsApproximateFloat64() }

// ConvertToNative implements ref.Val.
func (q quantity) ConvertToNative(t reflect.Type) (any, error) {
	if t.Kind() == reflect.Float64 {
		return reflect.ValueOf(q.float()).Convert(t).Interface(), nil
	}
	return nil, fmt.Errorf("a Quantity cannot be converted to %s", t)
}

// ConvertToType implements ref.Val.
func (q quantity) ConvertToType(t ref.Type) ref.Val {
	switch t {
	case types.DoubleType:
		return types.Double(q.float())
	case types.StringType:
		return types.String(q.amount.String())
	case types.TypeType:
		return quantityType
	}
	return types.NewErr("a Quantity cannot be converted to %s", t.TypeName())
}

// Equal implements ref.Val.
func (q quantity) Equal(other ref.Val) ref.Val {
	with, ok := other.(quantity)
	return types.Bool(ok && q.amount.Cmp(with.amount) == 0)
}

// Type implements ref.Val.
func (q quantity) Type() ref.Type { return quantityType }

// Value implements ref.Val.
func (q quantity) Value() any { return q.amount }

// Compare implements traits.Comparer.
func (q quantity) Compare(other ref.Val) ref.Val {
	with, ok := other.(quantity)
	if !ok {
		return types.MaybeNoSuchOverloadErr(other)
	}
	return types.Int(q.amount.Cmp(with.amount))
}

// Add implements traits.Adder.
func (q quantity) Add(other ref.Val) ref.Val {
	with, ok := other.(quantity)
	if !ok {
		return types.MaybeNoSuchOverloadErr(other)
	}
	sum := q.amount.DeepCopy()
	sum.Add(with.amount)
	return quantity{sum}
}

// Subtract implements traits.Subtractor.
func (q quantity) Subtract(other ref.Val) ref.Val {
	with, ok := other.(quantity)
	if !ok {
		return types.MaybeNoSuchOverloadErr(other)
	}
	difference := q.amount.DeepCopy()
	difference.Sub(with.amount)
	return quantity{difference}
}

// Negate implements traits.Negater.
func (q quantity) Negate() ref.Val {
	negative := q.amount.DeepCopy()
	negative.Neg()
	return quantity{negative}
}

// Multiply implements traits.Multiplier.
func (q quantity) Multiply(other ref.Val) ref.Val {
	by, ok := number(other)
	if !ok {
		return types.MaybeNoSuchOverloadErr(other)
	}
	return ofNumber(q.float() * by)
}

// Divide implements traits.Divider.
func (q quantity) Divide(other ref.Val) ref.Val {
	by, ok := number(other)
	switch {
	case !ok:
		return types.MaybeNoSuchOverloadErr(other)
	case by == 0:
		return types.NewErr("division by zero")
	}
	return ofNumber(q.float() / by)
}

func number(v ref.Val) (float64, bool) {
	switch v := v.(type) {
	case types.Int:
		return float64(v), true
	case types.Uint:
		return float64(v), true
	case types.Double:
		return float64(v), true
	}
	return 0, false
}
