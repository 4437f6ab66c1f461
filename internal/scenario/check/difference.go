package check

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Difference returns one line for each field in which got is not at least want. Every field
// of a wanted mapping must have its value; null stands for a field that is not set. A list
// must have, for each wanted item, an item that is at least that, in any order.
func Difference(want, got any) []string { return appendDifference(nil, "", want, got) }

func appendDifference(out []string, path string, want, got any) []string {
	switch want := want.(type) {
	case map[string]any:
		have, ok := got.(map[string]any)
		if !ok {
			return append(out, mismatch(path, want, got))
		}
		for _, key := range sortedKeys(want) {
			value, present := have[key]
			switch {
			case want[key] == nil:
				if value != nil {
					out = append(out, fmt.Sprintf("%s: expected not to be set, found %s", join(path, key), text(value)))
				}
				continue
			case !present:
				out = append(out, fmt.Sprintf("%s: expected %s, but it is not set", join(path, key), text(want[key])))
				continue
			}
			out = appendDifference(out, join(path, key), want[key], value)
		}
		return out
	case []any:
		have, ok := got.([]any)
		if !ok {
			return append(out, mismatch(path, want, got))
		}
		for i, item := range want {
			if slices.ContainsFunc(have, func(h any) bool { return Covers(item, h) }) {
				continue
			}
			if name, same := namesake(item, have); same != nil {
				out = appendDifference(out, path+"["+name+"]", item, same)
				continue
			}
			out = append(out, absentItem(path, i, item, have))
		}
		return out
	}
	if !equalScalars(want, got) {
		return append(out, mismatch(path, want, got))
	}
	return out
}

// namesake returns the only item of a list that has the name, or the type, of a wanted one.
// The difference is reported for that item, and not for the list.
func namesake(want any, have []any) (name string, found any) {
	wanted, _ := want.(map[string]any)
	for _, key := range []string{"name", "type"} {
		if name, _ = wanted[key].(string); name == "" {
			continue
		}
		for _, item := range have {
			if m, ok := item.(map[string]any); !ok || m[key] != name {
				continue
			}
			if found != nil {
				return "", nil // the name does not identify one of them
			}
			found = item
		}
		return name, found
	}
	return "", nil
}

// absentItem reports that no item of a list is at least the wanted one. If the items have
// names, it lists only these.
func absentItem(path string, i int, item any, have []any) string {
	wanted, _ := item.(map[string]any)
	for _, key := range []string{"name", "type"} {
		name, _ := wanted[key].(string)
		names := values(have, key)
		if name == "" || len(have) == 0 || len(names) < len(have) || slices.Contains(names, name) {
			continue
		}
		return fmt.Sprintf("%s[%s]: expected, but there is only %s", path, name, bounded(strings.Join(names, ", ")))
	}
	return fmt.Sprintf("%s[%d]: expected an item %s among %s", path, i, bounded(text(item)), bounded(text(have)))
}

// values returns the texts that a field has in the items of a list.
func values(list []any, field string) []string {
	var all []string
	for _, item := range list {
		m, _ := item.(map[string]any)
		if value, _ := m[field].(string); value != "" {
			all = append(all, value)
		}
	}
	return all
}

// maxText caps the text of a value, in runes.
const maxText = 400

func bounded(text string) string {
	if runes := []rune(text); len(runes) > maxText {
		return string(runes[:maxText-1]) + "…"
	}
	return text
}

// Covers reports whether Difference would return nothing, and is faster.
func Covers(want, got any) bool {
	switch want := want.(type) {
	case map[string]any:
		have, ok := got.(map[string]any)
		if !ok {
			return false
		}
		for key, value := range want {
			if found, present := have[key]; (value != nil && !present) || !Covers(value, found) {
				return false
			}
		}
		return true
	case []any:
		have, ok := got.([]any)
		if !ok {
			return false
		}
		for _, item := range want {
			if !slices.ContainsFunc(have, func(h any) bool { return Covers(item, h) }) {
				return false
			}
		}
		return true
	}
	return equalScalars(want, got)
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func mismatch(path string, want, got any) string {
	return fmt.Sprintf("%s: expected %s, found %s", path, bounded(text(want)), bounded(text(got)))
}

func text(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(data)
}

// equalScalars compares numbers by value, whichever type they came in.
func equalScalars(want, got any) bool {
	if w, ok := number(want); ok {
		g, ok := number(got)
		return ok && w == g
	}
	return want == got
}

func number(v any) (string, bool) {
	switch v := v.(type) {
	case int64:
		return strconv.FormatInt(v, 10), true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	}
	return "", false
}
