package kwokcel

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// structType is a struct of the API as CEL sees it: by the names of its JSON.
type structType struct {
	cel    *types.Type
	fields map[string]structField
}

type structField struct {
	index []int
	cel   *types.Type
}

// structTypes are the structs that the variables consist of.
type structTypes struct {
	byGo   map[reflect.Type]*structType
	byName map[string]*structType
}

// newStructTypes returns the types of all fields of nodes, pods and containers.
func newStructTypes() *structTypes {
	known := &structTypes{map[reflect.Type]*structType{}, map[string]*structType{}}
	for _, t := range []reflect.Type{reflect.TypeFor[corev1.Node](), reflect.TypeFor[corev1.Pod](), reflect.TypeFor[corev1.Container]()} {
		known.typeOf(t)
	}
	return known
}

// special maps the types whose CEL type does not follow from their Go kind.
var special = map[reflect.Type]*types.Type{
	reflect.TypeFor[metav1.Time]():         types.TimestampType,
	reflect.TypeFor[metav1.MicroTime]():    types.TimestampType,
	reflect.TypeFor[time.Time]():           types.TimestampType,
	reflect.TypeFor[metav1.Duration]():     types.DurationType,
	reflect.TypeFor[resource.Quantity]():   quantityType,
	reflect.TypeFor[intstr.IntOrString]():  types.DynType,
	reflect.TypeFor[metav1.FieldsV1]():     types.DynType,
	reflect.TypeFor[corev1.ResourceList](): types.NewMapType(types.StringType, quantityType),
}

// typeOf returns the type by which CEL knows a type of Go, and remembers it if it is a struct.
func (s *structTypes) typeOf(t reflect.Type) *types.Type {
	if known, ok := special[t]; ok {
		return known
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.typeOf(t.Elem())
	case reflect.String:
		return types.StringType
	case reflect.Bool:
		return types.BoolType
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return types.IntType
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return types.UintType
	case reflect.Float32, reflect.Float64:
		return types.DoubleType
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return types.BytesType
		}
		return types.NewListType(s.typeOf(t.Elem()))
	case reflect.Map:
		return types.NewMapType(s.typeOf(t.Key()), s.typeOf(t.Elem()))
	case reflect.Struct:
		return s.structOf(t).cel
	}
	return types.DynType
}

func (s *structTypes) structOf(t reflect.Type) *structType {
	if known := s.byGo[t]; known != nil {
		return known
	}
	name := nameOf(t)
	made := &structType{types.NewObjectType(name, traits.IndexerType|traits.FieldTesterType), map[string]structField{}}
	s.byGo[t], s.byName[name] = made, made
	s.addFields(made, t, nil)
	return made
}

// addFields adds the fields of a struct, including the fields of structs that its JSON contains
// inline.
func (s *structTypes) addFields(to *structType, t reflect.Type, within []int) {
	for i := range t.NumField() {
		field := t.Field(i)
		index := append(slices.Clone(within), i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case !field.IsExported() || name == "-":
		case name == "" && field.Anonymous && field.Type.Kind() == reflect.Struct && (options == "inline" || options == ""):
			s.addFields(to, field.Type, index)
		case name != "":
			to.fields[name] = structField{index, s.typeOf(field.Type)}
		}
	}
}

// nameOf is the name of a type in errors: core.v1.Pod.
func nameOf(t reflect.Type) string {
	path := strings.Split(t.PkgPath(), "/")
	return strings.Join(append(path[max(len(path)-2, 0):], t.Name()), ".")
}

// provider returns the types to CEL. What it does not know is left to CEL's own provider.
type provider struct {
	types.Provider
	structs *structTypes
}

// FindStructType implements types.Provider.
func (p provider) FindStructType(name string) (*types.Type, bool) {
	if known := p.structs.byName[name]; known != nil {
		return types.NewTypeTypeWithParam(known.cel), true
	}
	return p.Provider.FindStructType(name)
}

// FindStructFieldNames implements types.Provider.
func (p provider) FindStructFieldNames(name string) ([]string, bool) {
	known := p.structs.byName[name]
	if known == nil {
		return p.Provider.FindStructFieldNames(name)
	}
	var names []string
	for field := range known.fields {
		names = append(names, field)
	}
	slices.Sort(names)
	return names, true
}

// FindStructFieldType implements types.Provider.
func (p provider) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	known := p.structs.byName[name]
	if known == nil {
		return p.Provider.FindStructFieldType(name, field)
	}
	f, ok := known.fields[field]
	if !ok {
		return nil, false
	}
	return &types.FieldType{
		Type: f.cel,
		IsSet: func(target any) bool {
			v, ok := structValue(target)
			return ok && !v.FieldByIndex(f.index).IsZero()
		},
		GetFrom: func(target any) (any, error) {
			v, ok := structValue(target)
			if !ok {
				return nil, fmt.Errorf("%T has no field %s", target, field)
			}
			return adapter{p.structs}.value(v.FieldByIndex(f.index)), nil
		},
	}, true
}

// structValue returns the struct that a value of CEL or Go stands for.
func structValue(target any) (reflect.Value, bool) {
	if v, ok := target.(ref.Val); ok {
		target = v.Value()
	}
	v := reflect.ValueOf(target)
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	return v, v.Kind() == reflect.Struct
}
