package check

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"minikcm.dev/minikcm/internal/scenario/spec"
)

// value reads YAML as objects of a scenario are read.
func value(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return spec.JSONValue(v)
}

func TestDifference(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		want, got string
		lines     []string
	}{
		"same":              {"{a: 1, b: [x, y]}", "{a: 1, b: [x, y]}", nil},
		"more is no harm":   {"{a: {b: 1}}", "{a: {b: 1, c: 2}, d: 3}", nil},
		"nothing wanted":    {"{}", "{a: 1}", nil},
		"other value":       {"{a: {b: 1}}", "{a: {b: 2}}", []string{"a.b: expected 1, found 2"}},
		"other type":        {"{a: 1}", `{a: "1"}`, []string{`a: expected 1, found "1"`}},
		"not set":           {"{a: {b: [1]}}", "{a: {}}", []string{"a.b: expected [1], but it is not set"}},
		"null":              {"{a: null}", "{a: null}", nil},
		"null is not set":   {"{a: {b: null}}", "{a: {}}", nil},
		"null, but set":     {"{a: {b: null}}", "{a: {b: now}}", []string{`a.b: expected not to be set, found "now"`}},
		"null, but a map":   {"{a: null}", "{a: {b: 1}}", []string{`a: expected not to be set, found {"b":1}`}},
		"every difference":  {"{c: 1, a: 1, b: 1}", "{a: 2, b: 1}", []string{"a: expected 1, found 2", "c: expected 1, but it is not set"}},
		"scalar for map":    {"{a: {b: 1}}", "{a: x}", []string{`a: expected {"b":1}, found "x"`}},
		"map for scalar":    {"{a: x}", "{a: {b: 1}}", []string{`a: expected "x", found {"b":1}`}},
		"scalar for list":   {"{a: [1]}", "{a: 1}", []string{"a: expected [1], found 1"}},
		"list for scalar":   {"{a: 1}", "{a: [1]}", []string{"a: expected 1, found [1]"}},
		"any order":         {"{a: [2, 1]}", "{a: [1, 2, 3]}", nil},
		"item missing":      {"{a: [1, 4]}", "{a: [1, 2]}", []string{"a[1]: expected an item 4 among [1,2]"}},
		"items of objects":  {"{a: [{type: Ready, status: 'True'}]}", "{a: [{type: A}, {type: Ready, status: 'True', reason: R}]}", nil},
		"item not complete": {"{a: [{type: Ready, status: 'True'}]}", "{a: [{type: Ready}, {status: 'True'}]}", []string{`a[Ready].status: expected "True", but it is not set`}},
		"item differs":      {"{a: [{name: web, image: b}]}", "{a: [{name: init, image: b}, {name: web, image: a}]}", []string{`a[web].image: expected "b", found "a"`}},
		"no such item":      {"{a: [{name: web}]}", "{a: [{name: init}]}", []string{`a[web]: expected, but there is only init`}},
		"no item at all":    {"{a: [{name: web}]}", "{a: []}", []string{`a[0]: expected an item {"name":"web"} among []`}},
		"long":              {"{a: x}", "{a: " + strings.Repeat("y", 500) + "}", []string{`a: expected "x", found "` + strings.Repeat("y", 398) + "…"}},
		"two of one name":   {"{a: [{name: dns, protocol: SCTP}]}", "{a: [{name: dns, protocol: TCP}, {name: dns, protocol: UDP}]}", []string{`a[0]: expected an item {"name":"dns","protocol":"SCTP"} among [{"name":"dns","protocol":"TCP"},{"name":"dns","protocol":"UDP"}]`}},
		"empty list":        {"{a: []}", "{a: [1]}", nil},
		"whole and decimal": {"{a: 1, b: 1.0, c: 1.5}", "{a: 1.0, b: 1, c: 1.5}", nil},
		"truth":             {"{a: true}", "{a: false}", []string{"a: expected true, found false"}},
		"at the root":       {"1", "2", []string{": expected 1, found 2"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if covers := Covers(value(t, test.want), value(t, test.got)); covers != (len(test.lines) == 0) {
				t.Errorf("Covers is %t", covers)
			}
			if diff := cmp.Diff(test.lines, Difference(value(t, test.want), value(t, test.got))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Values that JSON cannot express are reported all the same.
func TestText(t *testing.T) {
	t.Parallel()
	if got := text(math.NaN()); !strings.Contains(got, "NaN") {
		t.Errorf("got %s", got)
	}
	if diff := Difference(math.NaN(), 1.0); len(diff) != 1 {
		t.Errorf("not a number is a number: %v", diff)
	}
}

func TestJSONValue(t *testing.T) {
	t.Parallel()
	got := value(t, "{a: 1, b: [1.5, 18446744073709551615], c: {1: x, true: y}, d: 2026-01-02T03:04:05+01:00, e: 2026-01-02, f: ~, g: 0x10}")
	want := map[string]any{
		"a": int64(1), "b": []any{1.5, float64(math.MaxUint64)}, "c": map[string]any{"1": "x", "true": "y"},
		"d": "2026-01-02T02:04:05Z", "e": "2026-01-02T00:00:00Z", "f": nil, "g": int64(16),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
