package rows

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// damaged is a manifest with one change. The place of the change is given as a path and as a
// JSON pointer.
type damaged struct {
	what     string
	pointer  string
	how      string
	manifest map[string]any
}

// damages returns many invalid variants of a manifest: each field is removed, emptied, or set
// to a value that is unlikely to be valid. They affect either the status or the rest.
func damages(manifest map[string]any, status bool) []damaged {
	var all []damaged
	walk(manifest, nil, func(path []any, value any) {
		if len(path) == 0 || len(path) == 1 && (path[0] == "kind" || path[0] == "apiVersion") || (path[0] == "status") != status || dotted(path) == "metadata.namespace" {
			return
		}
		add := func(how string, change func(spoiled map[string]any)) {
			spoiled := clone(manifest)
			change(spoiled)
			all = append(all, damaged{what: dotted(path) + " " + how, pointer: pointer(path), how: how, manifest: spoiled})
		}
		for how, other := range instead(value) {
			add(how, func(spoiled map[string]any) { set(spoiled, path, other) })
		}
		add("removed", func(spoiled map[string]any) { remove(spoiled, path) })
	})
	slices.SortFunc(all, func(a, b damaged) int { return strings.Compare(a.what, b.what) })
	return all
}

// pointer formats a path as a JSON pointer (RFC 6901).
func pointer(path []any) string {
	var b strings.Builder
	for _, step := range path {
		b.WriteByte('/')
		b.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(fmt.Sprint(step)))
	}
	return b.String()
}

// instead returns replacement values for a value, by description.
func instead(value any) map[string]any {
	switch v := value.(type) {
	case string:
		return map[string]any{"empty": "", "odd": "-not Valid_", "long": strings.Repeat("a", 300), "upper": strings.ToUpper(v) + "X"}
	case float64:
		return map[string]any{"negative": float64(-1), "zero": float64(0), "huge": float64(1 << 30)}
	case bool:
		return map[string]any{"flipped": !v}
	case []any:
		others := map[string]any{"emptied": []any{}}
		if len(v) > 0 {
			others["doubled"] = append(slices.Clone(v), v[0])
		}
		return others
	case map[string]any:
		return map[string]any{"emptied": map[string]any{}}
	}
	return nil
}

func walk(value any, path []any, visit func(path []any, value any)) {
	visit(path, value)
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			walk(v[key], append(slices.Clone(path), key), visit)
		}
	case []any:
		for i := range v {
			walk(v[i], append(slices.Clone(path), i), visit)
		}
	}
}

func dotted(path []any) string {
	var b strings.Builder
	for _, step := range path {
		if index, ok := step.(int); ok {
			fmt.Fprintf(&b, "[%d]", index)
			continue
		}
		fmt.Fprintf(&b, ".%v", step)
	}
	return strings.TrimPrefix(b.String(), ".")
}

func clone(manifest map[string]any) map[string]any {
	data, err := json.Marshal(manifest)
	if err != nil {
		panic(err) // it came from JSON
	}
	var copied map[string]any
	if err := json.Unmarshal(data, &copied); err != nil {
		panic(err)
	}
	return copied
}

// parent returns the map or list that contains the last element of a path.
func parent(root any, path []any) any {
	for _, step := range path[:len(path)-1] {
		switch at := root.(type) {
		case map[string]any:
			root = at[step.(string)]
		case []any:
			root = at[step.(int)]
		}
	}
	return root
}

func set(root map[string]any, path []any, value any) {
	switch at := parent(root, path).(type) {
	case map[string]any:
		at[path[len(path)-1].(string)] = value
	case []any:
		at[path[len(path)-1].(int)] = value
	}
}

func remove(root map[string]any, path []any) {
	switch at := parent(root, path).(type) {
	case map[string]any:
		delete(at, path[len(path)-1].(string))
	case []any:
		set(root, path[:len(path)-1], slices.Delete(at, path[len(path)-1].(int), path[len(path)-1].(int)+1))
	}
}
