package writerecord

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// The page has the same decisions: ui/test/record.test.ts reads the same table.
func TestWriter(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/writers.json")
	if err != nil {
		t.Fatal(err)
	}
	var table []struct {
		UserAgent, Writer string
		Own, ByHand       bool
	}
	if err := json.Unmarshal(data, &table); err != nil {
		t.Fatal(err)
	}
	untried := slices.Clone(handTools)
	for _, want := range table {
		w := Write{UserAgent: want.UserAgent, Actor: "alice"}
		if got := w.Writer(); got != want.Writer || w.own() != want.Own || w.byHand() != want.ByHand {
			t.Errorf("%q: %q, own %t, by hand %t; want %v", want.UserAgent, got, w.own(), w.byHand(), want)
		}
		untried = slices.DeleteFunc(untried, func(tool string) bool { return tool == strings.ToLower(want.Writer) })
	}
	if len(untried) > 0 {
		t.Errorf("testdata/writers.json, which the page's test reads, too, lacks the tools %q", untried)
	}
}

func FuzzWriter(f *testing.F) {
	f.Add("kubectl/v1.37.2 (linux/amd64) kubernetes/unknown")
	f.Add("a/b (c/d) kubernetes/e/f:g")
	f.Fuzz(func(t *testing.T, userAgent string) {
		name := (&Write{UserAgent: userAgent}).Writer()
		if utf8.RuneCountInString(name) > maxProgram || strings.ContainsAny(name, "\n\x1b\x00") {
			t.Errorf("%q is called %q", userAgent, name)
		}
	})
}
