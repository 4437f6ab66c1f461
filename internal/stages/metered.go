package stages

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"text/template"
)

// maxWork caps the bytes that the functions of one rendering take and return.
const maxWork = 64 << 20

var errWork = fmt.Errorf("the template's functions handle more than %d bytes", maxWork)

// metered returns functions that fail when all their calls together have handled more than maxWork
// bytes, or when a result is too long a string: a chain of calls could double it each time. It
// leaves out functions that the template does not name.
func metered(all template.FuncMap, source string) template.FuncMap {
	left := maxWork
	failure := reflect.TypeFor[error]()
	limited := template.FuncMap{}
	for name, f := range all {
		if !strings.Contains(source, name) {
			continue
		}
		v := reflect.ValueOf(f)
		t := v.Type()
		var in []reflect.Type
		for i := range t.NumIn() {
			in = append(in, t.In(i))
		}
		wrapped := reflect.FuncOf(in, []reflect.Type{t.Out(0), failure}, t.IsVariadic())
		limited[name] = reflect.MakeFunc(wrapped, func(args []reflect.Value) []reflect.Value {
			fail := func(err error) []reflect.Value {
				return []reflect.Value{reflect.Zero(t.Out(0)), reflect.ValueOf(&err).Elem()}
			}
			for _, arg := range args {
				left = sizeWithin(arg.Interface(), left-callCost)
			}
			if left < 0 {
				return fail(errWork)
			}
			call := v.Call
			if t.IsVariadic() {
				call = v.CallSlice
			}
			results := call(args)
			if left = sizeWithin(results[0].Interface(), left-callCost); left < 0 {
				return fail(errWork)
			}
			if results[0].Kind() == reflect.String && results[0].Len() > maxOutput {
				return fail(errLong)
			}
			if len(results) == 1 {
				results = append(results, reflect.Zero(failure))
			}
			return results
		}).Interface()
	}
	return limited
}

// callCost is the fixed cost of a call, in addition to its arguments and its result.
const callCost = 64

// checkSize returns an error if a value is too large. Nested lists grow large quickly.
func checkSize(v any) error {
	if left := sizeWithin(v, maxOutput); left < 0 {
		return fmt.Errorf("a list or dict has more than %d bytes", maxOutput)
	}
	return nil
}

// sizeWithin returns left minus the size of a value; negative: the value is larger.
func sizeWithin(v any, left int) int {
	left--
	switch v := v.(type) {
	case string:
		return left - len(v)
	case []any:
		for _, element := range v {
			if left = sizeWithin(element, left); left < 0 {
				return left
			}
		}
	case map[string]any:
		for key, element := range v {
			if left = sizeWithin(element, left-len(key)); left < 0 {
				return left
			}
		}
	case []string:
		for _, element := range v {
			left -= len(element) + 1
		}
	case []int:
		return left - len(v)
	case json.Number:
		return left - len(v)
	}
	return left
}

// maxWidth caps the width and precision in a format.
const maxWidth = 100

var wideFormat = regexp.MustCompile(`%[-+# 0\[\]\d.]*(\*|\d{3,})`)

// formatted is fmt.Sprintf without wide fields, of which a format may have many.
func formatted(format string, args ...any) (string, error) {
	if wideFormat.MatchString(format) {
		return "", fmt.Errorf("the format %q has a width of more than %d or *", format, maxWidth)
	}
	if err := checkSize(args); err != nil {
		return "", err
	}
	if strings.Count(format, "%")*(sizeOf(args)+maxWidth)+len(format) > 64*maxOutput { // %[1]s repeats an argument
		return "", errLong
	}
	return fmt.Sprintf(format, args...), nil
}

func sizeOf(args []any) int { return maxOutput - sizeWithin(args, maxOutput) }

var errLong = fmt.Errorf("a string has more than %d bytes", maxOutput)
