package servers

import (
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
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
