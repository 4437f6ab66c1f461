package record

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
)

// any compares what custom objects are made of.
func (w *walk) any(a, b any) {
	if old, ok := a.(map[string]any); ok {
		if item, ok := b.(map[string]any); ok {
			w.anyMaps(old, item)
			return
		}
	}
	if old, ok := a.([]any); ok {
		if item, ok := b.([]any); ok && len(old) == len(item) {
			for i := range item {
				w.within(itemName(item[i], i), func() { w.any(old[i], item[i]) })
			}
			return
		}
	}
	if !reflect.DeepEqual(a, b) {
		w.tell(anyText(a), anyText(b))
	}
}

func (w *walk) anyMaps(old, item map[string]any) {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(old)), maps.Keys(item))
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		w.within(key, func() { w.any(old[key], item[key]) })
	}
}

// itemName is the key of a list's item, or its index.
func itemName(item any, i int) string {
	if m, ok := item.(map[string]any); ok {
		for _, key := range []string{"type", "name", "key"} {
			if name, ok := m[key].(string); ok {
				return "[" + name + "]"
			}
		}
	}
	return "[" + strconv.Itoa(i) + "]"
}

func anyText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case map[string]any:
		return plural(len(v), "entry")
	case []any:
		return plural(len(v), "item")
	}
	return shortened(fmt.Sprint(v))
}
