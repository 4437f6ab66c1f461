package servers

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/google/cel-go/common/types/ref"
)

// maxState caps the bytes of a container's state as JSON.
const maxState = 64 << 10

// Set returns the state after a request: a copy, if the route changes it.
func (r *Route) Set(in *Input) (map[string]any, error) {
	if len(r.set) == 0 {
		return in.State, nil
	}
	next := maps.Clone(in.State)
	if next == nil {
		next = map[string]any{}
	}
	for _, a := range r.set {
		v, err := a.value.Any(in)
		if err != nil {
			return nil, err
		}
		if next[a.name], err = plain(v); err != nil {
			return nil, fmt.Errorf("the state %s: %w", a.name, err)
		}
	}
	if data, err := json.Marshal(next); err != nil || len(data) > maxState {
		return nil, fmt.Errorf("the state has more than %d bytes", maxState)
	}
	return next, nil
}

// plain makes a value of Go of a result, so that it holds nothing that it was computed from.
func plain(v ref.Val) (any, error) {
	data, err := appendJSON(nil, v, 0)
	if err != nil {
		return nil, err
	}
	return fromJSON(string(data))
}

// fromJSON reads JSON with integers as such.
func fromJSON(text string) (any, error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	return withNumbers(value), nil
}

// withNumbers replaces the numbers of JSON by integers and floats.
func withNumbers(value any) any {
	switch v := value.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64() // the parser has checked it
		return f
	case []any:
		for i := range v {
			v[i] = withNumbers(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = withNumbers(v[key])
		}
	}
	return value
}
