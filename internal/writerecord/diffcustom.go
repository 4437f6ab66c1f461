package writerecord

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
)

// any compares values of custom objects.
func (w *walk) any(a, b any) {
	if old, ok := a.(map[string]any); ok {
		if item, ok := b.(map[string]any); ok {
			w.anyMaps(old, item)
			return
		}
	}
	if old, ok := a.([]any); ok {
		if item, ok := b.([]any); ok && w.anyLists(old, item) {
			return
		}
	}
	if !reflect.DeepEqual(a, b) {
		w.add(anyText(a), anyText(b))
	}
}

// anyLists compares lists whose items have keys, item by item, and lists of the same
// length. It returns false for others.
func (w *walk) anyLists(old, items []any) bool {
	before, named := byKey(old)
	after, alsoNamed := byKey(items)
	if named && alsoNamed {
		w.keyed(before, after)
		return true
	}
	if len(old) != len(items) {
		return false
	}
	for i := range items {
		w.within("["+strconv.Itoa(i)+"]", func() { w.any(old[i], items[i]) })
	}
	return true
}

// keyed compares the items of two lists by their keys.
func (w *walk) keyed(old, items map[string]any) {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(old)), maps.Keys(items))
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		w.within("["+key+"]", func() {
			was, before := old[key]
			is, after := items[key]
			if before && after {
				w.any(was, is)
				return
			}
			w.add(itemText(was), itemText(is))
		})
	}
}

func (w *walk) anyMaps(old, item map[string]any) {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(old)), maps.Keys(item))
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		w.within(key, func() { w.any(old[key], item[key]) })
	}
}

// byKey returns a list's items by their keys. ok is false if an item has no key, or two
// have the same.
func byKey(list []any) (items map[string]any, ok bool) {
	items = make(map[string]any, len(list))
	for _, item := range list {
		key := keyOfItem(item)
		if _, twice := items[key]; twice || key == "" {
			return nil, false
		}
		items[key] = item
	}
	return items, true
}

func keyOfItem(item any) string {
	m, _ := item.(map[string]any)
	for _, key := range []string{"type", "name", "key"} {
		if name, ok := m[key].(string); ok {
			return name
		}
	}
	return ""
}

// itemText returns the text for an added or removed item: a condition's state, or its
// value.
func itemText(item any) string {
	if m, ok := item.(map[string]any); ok {
		if status, ok := m["status"].(string); ok {
			reason, _ := m["reason"].(string)
			return stateText(status, reason)
		}
		return "set"
	}
	return anyText(item)
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
	return shortened(fmt.Sprint(v), maxValue)
}
