package kwokcel

import (
	"fmt"
	"reflect"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// adapter makes values of CEL of values of Go, without copying what objects contain.
type adapter struct{ structs *structTypes }

// NativeToValue implements types.Adapter.
func (a adapter) NativeToValue(value any) ref.Val {
	if v, ok := value.(ref.Val); ok {
		return v
	}
	if value == nil {
		return types.NullValue
	}
	return a.value(reflect.ValueOf(value))
}

// value is NativeToValue for a reflected value. A nil pointer is the zero value of its type.
func (a adapter) value(v reflect.Value) ref.Val {
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			v = reflect.New(v.Type().Elem())
		}
		v = v.Elem()
	}
	if _, ok := special[v.Type()]; ok {
		return a.specialValue(v.Interface())
	}
	switch v.Kind() {
	case reflect.String:
		return types.String(v.String())
	case reflect.Bool:
		return types.Bool(v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return types.Int(v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return types.Uint(v.Uint())
	case reflect.Float32, reflect.Float64:
		return types.Double(v.Float())
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return types.Bytes(v.Bytes())
		}
		return types.NewDynamicList(a, v.Interface())
	case reflect.Map:
		return types.NewDynamicMap(a, v.Interface())
	case reflect.Struct:
		if known := a.structs.byGo[v.Type()]; known != nil {
			if !v.CanAddr() {
				copied := reflect.New(v.Type())
				copied.Elem().Set(v)
				v = copied.Elem()
			}
			return object{v.Addr(), known, a}
		}
	}
	return types.DefaultTypeAdapter.NativeToValue(v.Interface())
}

func (a adapter) specialValue(value any) ref.Val {
	switch v := value.(type) {
	case metav1.Time:
		return types.Timestamp{Time: v.Time}
	case metav1.MicroTime:
		return types.Timestamp{Time: v.Time}
	case time.Time:
		return types.Timestamp{Time: v}
	case metav1.Duration:
		return types.Duration{Duration: v.Duration}
	case resource.Quantity:
		return quantity{v}
	case intstr.IntOrString:
		if v.Type == intstr.String {
			return types.String(v.StrVal)
		}
		return types.Int(v.IntVal)
	case corev1.ResourceList:
		return amounts{types.NewDynamicMap(a, map[corev1.ResourceName]resource.Quantity(v)), v}
	}
	return types.NullValue
}

// amounts is a list of resources. What it does not list is 0.
type amounts struct {
	traits.Mapper
	list corev1.ResourceList
}

// Find implements traits.Mapper.
func (m amounts) Find(key ref.Val) (ref.Val, bool) {
	name, ok := key.(types.String)
	if !ok {
		return nil, false
	}
	return quantity{m.list[corev1.ResourceName(name)]}, true
}

// Get implements traits.Mapper.
func (m amounts) Get(key ref.Val) ref.Val {
	if v, ok := m.Find(key); ok {
		return v
	}
	return types.MaybeNoSuchOverloadErr(key)
}

// Contains implements traits.Mapper.
func (m amounts) Contains(key ref.Val) ref.Val {
	name, ok := key.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(key)
	}
	_, has := m.list[corev1.ResourceName(name)]
	return types.Bool(has)
}

// object is a struct of the API.
type object struct {
	pointer reflect.Value
	of      *structType
	adapter
}

// ConvertToNative implements ref.Val.
func (o object) ConvertToNative(t reflect.Type) (any, error) {
	return nil, fmt.Errorf("%s cannot be converted to %s", o.of.cel.TypeName(), t)
}

// ConvertToType implements ref.Val.
func (o object) ConvertToType(t ref.Type) ref.Val {
	if t == types.TypeType {
		return o.of.cel
	}
	return types.NewErr("%s cannot be converted to %s", o.of.cel.TypeName(), t.TypeName())
}

// Equal implements ref.Val.
func (o object) Equal(other ref.Val) ref.Val {
	with, ok := other.(object)
	return types.Bool(ok && with.of == o.of && reflect.DeepEqual(o.pointer.Interface(), with.pointer.Interface()))
}

// Type implements ref.Val.
func (o object) Type() ref.Type { return o.of.cel }

// Value implements ref.Val.
func (o object) Value() any { return o.pointer.Interface() }

// Get implements traits.Indexer, for objects whose type the checker does not know.
func (o object) Get(index ref.Val) ref.Val {
	f, ok := o.field(index)
	if !ok {
		return types.NewErr("no such field: %v", index.Value())
	}
	return o.value(o.pointer.Elem().FieldByIndex(f.index))
}

// IsSet implements traits.FieldTester.
func (o object) IsSet(index ref.Val) ref.Val {
	f, ok := o.field(index)
	if !ok {
		return types.NewErr("no such field: %v", index.Value())
	}
	return types.Bool(!o.pointer.Elem().FieldByIndex(f.index).IsZero())
}

func (o object) field(index ref.Val) (structField, bool) {
	name, _ := index.(types.String)
	f, ok := o.of.fields[string(name)]
	return f, ok
}
