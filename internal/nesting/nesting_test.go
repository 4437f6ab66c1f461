package nesting_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"minikcm.dev/minikcm/internal/nesting"
)

const limit = 5

func tooDeep(err error) bool {
	var deep *nesting.TooDeepError
	return errors.As(err, &deep)
}

func nested(open, inner, end string, levels int) string {
	return strings.Repeat(open, levels) + inner + strings.Repeat(end, levels)
}

func TestJSON(t *testing.T) {
	for text, deep := range map[string]bool{
		nested("[", "", "]", limit):                             false,
		nested("[", "", "]", limit+1):                           true,
		nested(`{"a":`, "1", "}", limit):                        false,
		nested(`{"a":`, "1", "}", limit+1):                      true,
		`["` + strings.Repeat("[", 2*limit) + `"]`:              false,
		`["\"` + strings.Repeat("[", 2*limit) + `"]`:            false,
		`["\\",` + nested("[", "", "]", limit) + `]`:            true,
		"[" + strings.Repeat("[],{},", 3*limit) + "[]]":         false,
		strings.Repeat("[", 1_000_000):                          true,
		"":                                                      false,
		`"unterminated [[[[[[[[[[[[[[[[`:                        false,
		nested("[", `"`, "]", limit) + `"` + "[[[[[[[[[[[[[[[[": true,
	} {
		if got := tooDeep(nesting.JSON([]byte(text), limit)); got != deep {
			t.Errorf("%.60s: too deep: %t, want %t", text, got, deep)
		}
	}
}

func message(levels int) []byte {
	data := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "\xff\xff")
	for range levels - 1 {
		data = protowire.AppendBytes(protowire.AppendTag(nil, 300, protowire.BytesType), data)
		data = protowire.AppendVarint(protowire.AppendTag(data, 2, protowire.VarintType), 1<<40)
		data = protowire.AppendFixed64(protowire.AppendTag(data, 3, protowire.Fixed64Type), 1)
		data = protowire.AppendFixed32(protowire.AppendTag(data, 4, protowire.Fixed32Type), 1)
	}
	return data
}

func TestProtobuf(t *testing.T) {
	for levels, deep := range map[int]bool{1: false, limit: false, limit + 1: true, 2000: true} {
		if got := tooDeep(nesting.Protobuf(message(levels), limit)); got != deep {
			t.Errorf("%d levels: too deep: %t, want %t", levels, got, deep)
		}
	}
	if err := nesting.Protobuf([]byte("no message"), limit); err != nil {
		t.Error(err)
	}
}

// aliases returns a document of that many levels, each of which repeats the one before
// it ten times.
func aliases(levels int) string {
	var b strings.Builder
	b.WriteString("a0: &a0 x\n")
	for i := range levels {
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i), 10), ","))
	}
	return b.String()
}

func TestYAML(t *testing.T) {
	const size = 1000
	for text, want := range map[string]string{
		"a: 1":                              "",
		"":                                  "",
		"a: b: c":                           "",
		nested("[", "", "]", limit):         "",
		nested("[", "", "]", limit+1):       "it is nested more than 5 levels deep",
		nested("- ", "a", "", limit):        "",
		nested("- ", "a", "", limit+1):      "it is nested more than 5 levels deep",
		nested("{a: ", "b", "}", limit+1):   "it is nested more than 5 levels deep",
		nested("? ", "a", "", limit+1):      "it is nested more than 5 levels deep",
		nested("[", "", "]", 1_000_000):     "", // the parser has its own limit
		"'" + strings.Repeat("[", 50) + `'`: "",
		aliases(1):                          "",
		aliases(2):                          "",
		aliases(3):                          "its aliases expand it to more than 1000 bytes",
		aliases(100):                        "it is nested more than 5 levels deep",
		"a: &a [*a]":                        "",
		"a: &a " + strings.Repeat("x", 400) + "\nb: [*a, *a]": "its aliases expand it to more than 1000 bytes",
	} {
		err := nesting.YAML([]byte(text), limit, size)
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%.60q: %v, want %q", text, err, want)
		}
	}
}

func FuzzNesting(f *testing.F) {
	f.Add([]byte(nested("[", "", "]", 7)))
	f.Add([]byte(aliases(4)))
	f.Add(message(7))
	f.Fuzz(func(t *testing.T, data []byte) {
		_ = nesting.Protobuf(data, limit)
		_ = nesting.YAML(data, limit, 1000)
		err := nesting.JSON(data, limit)
		var value any
		if json.Unmarshal(data, &value) == nil && tooDeep(err) != (levels(value) > limit) {
			t.Errorf("%q has %d levels: %v", data, levels(value), err)
		}
	})
}

func levels(value any) int {
	deepest := -1
	switch typed := value.(type) {
	case map[string]any:
		deepest = 0
		for _, inner := range typed {
			deepest = max(deepest, levels(inner))
		}
	case []any:
		deepest = 0
		for _, inner := range typed {
			deepest = max(deepest, levels(inner))
		}
	}
	return deepest + 1
}
