package servers

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// maxText caps the bytes of a computed text.
const maxText = 1 << 20

var errTooLong = fmt.Errorf("a text has more than %d bytes", maxText)

// Value is a text with expressions. A nil *Value is not set.
type Value struct {
	pieces []compiled
	needs  needs
}

// compiled is a literal, or an expression.
type compiled struct {
	text       string
	expression *expression
}

// newValue compiles a text.
func newValue(text string, in scope) (*Value, error) {
	pieces, err := split(text)
	if err != nil {
		return nil, err
	}
	v := &Value{}
	for _, p := range pieces {
		c := compiled{text: p.text}
		if p.isExpression {
			if c.expression, err = compile(p.text, in); err != nil {
				return nil, err
			}
			v.needs.add(c.expression.needs)
		}
		v.pieces = append(v.pieces, c)
	}
	return v, nil
}

// constant returns the text of a value without expressions.
func (v *Value) constant() (text string, ok bool) {
	if len(v.pieces) == 1 && v.pieces[0].expression == nil {
		return v.pieces[0].text, true
	}
	return "", false
}

// Text returns the text with the results of its expressions.
func (v *Value) Text(in *Input) (string, error) {
	var b strings.Builder
	for _, p := range v.pieces {
		text := p.text
		if p.expression != nil {
			out, err := p.expression.eval(in)
			if err != nil {
				return "", err
			}
			if text, err = textOf(out); err != nil {
				return "", err
			}
		}
		if b.Len()+len(text) > maxText {
			return "", errTooLong
		}
		b.WriteString(text)
	}
	return b.String(), nil
}

// Any returns the result of a value that is a single expression, and the text of any other.
func (v *Value) Any(in *Input) (ref.Val, error) {
	if len(v.pieces) == 1 && v.pieces[0].expression != nil {
		return v.pieces[0].expression.eval(in)
	}
	text, err := v.Text(in)
	return types.String(text), err
}

// Int returns the value as a number from low to high.
func (v *Value) Int(in *Input, low, high int64) (int64, error) {
	text, err := v.Text(in)
	if err != nil {
		return 0, err
	}
	return intOf(text, low, high)
}

func intOf(text string, low, high int64) (int64, error) {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || n < low || n > high {
		return 0, fmt.Errorf("%q is not a number from %d to %d", text, low, high)
	}
	return n, nil
}

// Bool returns the value as a condition.
func (v *Value) Bool(in *Input) (bool, error) {
	text, err := v.Text(in)
	if err != nil {
		return false, err
	}
	return boolOf(text)
}

func boolOf(text string) (bool, error) {
	switch strings.TrimSpace(text) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, fmt.Errorf("%q is neither true nor false", text)
}

// Duration returns the value as a duration.
func (v *Value) Duration(in *Input) (time.Duration, error) {
	text, err := v.Text(in)
	if err != nil {
		return 0, err
	}
	return durationOf(text)
}

// maxDelay caps a delay: longer ones are times at which no client waits any more.
const maxDelay = 24 * time.Hour

func durationOf(text string) (time.Duration, error) {
	d, err := time.ParseDuration(strings.TrimSpace(text))
	if err != nil || d < 0 || d > maxDelay {
		return 0, fmt.Errorf("%q is not a duration from 0s to 24h, such as 1.5s", text)
	}
	return d, nil
}

// textOf returns a result as text: lists and maps as JSON.
func textOf(v ref.Val) (string, error) {
	switch v := v.(type) {
	case types.String:
		return string(v), nil
	case types.Bytes:
		return string(v), nil
	case types.Bool:
		return strconv.FormatBool(bool(v)), nil
	case types.Int:
		return strconv.FormatInt(int64(v), 10), nil
	case types.Uint:
		return strconv.FormatUint(uint64(v), 10), nil
	case types.Double:
		return strconv.FormatFloat(float64(v), 'g', -1, 64), nil
	case types.Duration:
		return v.Duration.String(), nil
	case types.Timestamp:
		return v.Time.UTC().Format(time.RFC3339Nano), nil
	case types.Null:
		return "", nil
	}
	data, err := appendJSON(nil, v, 0)
	return string(data), err
}

// appendJSON appends a result as JSON, with sorted keys.
func appendJSON(to []byte, v ref.Val, depth int) ([]byte, error) {
	switch {
	case depth > maxJSONDepth:
		return nil, errors.New("a value is nested too deep for JSON")
	case len(to) > maxText:
		return nil, errTooLong
	}
	switch v := v.(type) {
	case types.Null:
		return append(to, "null"...), nil
	case types.Bool, types.Int, types.Uint, types.Double:
		data, err := json.Marshal(v.Value())
		return append(to, data...), err
	case types.Bytes:
		return append(to, `"`+base64.StdEncoding.EncodeToString(v)+`"`...), nil
	case *types.Optional:
		if v.HasValue() {
			return appendJSON(to, v.GetValue(), depth+1)
		}
		return append(to, "null"...), nil
	case traits.Mapper:
		return appendMap(to, v, depth)
	case traits.Lister:
		to = append(to, '[')
		for i, it := 0, v.Iterator(); it.HasNext() == types.True; i++ {
			if i > 0 {
				to = append(to, ',')
			}
			var err error
			if to, err = appendJSON(to, it.Next(), depth+1); err != nil {
				return nil, err
			}
		}
		return append(to, ']'), nil
	case types.String, types.Timestamp, types.Duration:
		text, err := textOf(v)
		if err != nil {
			return nil, err
		}
		return appendText(to, text), nil
	}
	return nil, fmt.Errorf("a value of %s cannot be written as JSON", v.Type().TypeName())
}

func appendText(to []byte, text string) []byte {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) // a string has no error
	return append(to, strings.TrimSuffix(b.String(), "\n")...)
}

func appendMap(to []byte, v traits.Mapper, depth int) ([]byte, error) {
	type entry struct {
		key   string
		value ref.Val
	}
	var entries []entry
	for it := v.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		name, err := textOf(key)
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry{name, v.Get(key)})
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.key, b.key) })
	to = append(to, '{')
	for i, e := range entries {
		if i > 0 {
			to = append(to, ',')
		}
		var err error
		if to, err = appendJSON(append(appendText(to, e.key), ':'), e.value, depth+1); err != nil {
			return nil, err
		}
	}
	return append(to, '}'), nil
}
