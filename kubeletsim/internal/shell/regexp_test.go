package shell

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// FindAll finds what regexp finds in one go, except empty matches, also behind anchors and at the
// boundaries of words.
func TestFindAll(t *testing.T) {
	for _, tt := range []struct{ pattern, text string }{
		{"a+", "aa b aaa"},
		{"^a", "aaa"},
		{"a$", "aaa"},
		{`\bb\w*`, "abb bb b cb b"},
		{`\Ba`, "aa baa"},
		{"x*", "xx yy x"},
		{"(x*y)?", "xxxxyxxx"},
		{"(?i)é.", "éaÉb\xffé"},
		{"a|ab", "abab"},
		{".", "é\xffa"},
		{"", "abc"},
		{"z", "abc"},
	} {
		re := regexp.MustCompile(tt.pattern)
		var got []string
		if err := FindAll(t.Context(), re, tt.text, func(match string) { got = append(got, match) }); err != nil {
			t.Fatal(err)
		}
		want := slices.DeleteFunc(re.FindAllString(tt.text, -1), func(s string) bool { return s == "" })
		if !slices.Equal(got, want) {
			t.Errorf("%q in %q: got %q, want %q", tt.pattern, tt.text, got, want)
		}
	}
}

// A search in a long text returns the same as one in a short text, and ends with its context.
func TestFindInLongText(t *testing.T) {
	re := regexp.MustCompile("(é+)(z)?(y)")
	text := strings.Repeat("é", uninterrupted) + "y"
	got, err := FindSubmatch(t.Context(), re, text)
	if err != nil || !slices.Equal(got, re.FindStringSubmatch(text)) {
		t.Errorf("got %d groups, %v", len(got), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := FindSubmatch(ctx, re, text); got != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: got %d groups, %v", len(got), err)
	}
}
