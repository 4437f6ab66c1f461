package shell

import (
	"strings"
	"testing"
	"time"

	"minikcm.dev/minikcm/clock"
)

func TestPattern(t *testing.T) {
	for _, tt := range []struct {
		pattern, text string
		want          bool
	}{
		{"", "", true},
		{"abc", "abc", true},
		{"a*c", "abbc", true},
		{"a*c", "abcd", false},
		{"a?c", "aéc", true},
		{"[a-c]x", "bx", true},
		{"[!a-c]x", "bx", false},
		{"[]a]", "]", true},
		{"[[:digit:]]*", "1x", true},
		{"[a", "[a", true},
		{`\*`, "*", true},
		{`\*`, "x", false},
		{"@(a|b)c", "bc", true},
		{"?(a)c", "c", true},
		{"*(ab)", "ababab", true},
		{"+(ab)", "", false},
		{"+(a|b*(c))d", "abccbd", true},
		{"!(a|b)", "c", true},
		{"!(a|b)", "a", false},
		{"@(a", "@(a", true},
	} {
		got, err := CompilePattern(tt.pattern).Match(t.Context(), tt.text)
		if err != nil || got != tt.want {
			t.Errorf("%s matches %q: %v, %v", tt.pattern, tt.text, got, err)
		}
	}
}

// No pattern takes exponential time.
func TestPatternsAreLinear(t *testing.T) {
	text := strings.Repeat("a", 3000)
	for _, pattern := range []string{strings.Repeat("*a", 100) + "*b", strings.Repeat("+(a|aa)", 30) + "b", strings.Repeat("*(*(", 20) + "a" + strings.Repeat("))", 20) + "b"} {
		elapsed := clock.Stopwatch()
		if matched, err := CompilePattern(pattern).Match(t.Context(), text); matched || err != nil || elapsed() > 30*time.Second {
			t.Errorf("%.40s: %v, %v, after %v", pattern, matched, err, elapsed())
		}
	}
}

func FuzzPattern(f *testing.F) {
	f.Add("a*[!b-d]+(x|y)", "abcx")
	f.Add("!(@(*(", "!")
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if len(pattern)*len(text) < 1<<16 {
			if _, err := CompilePattern(pattern).Match(t.Context(), text); err != nil {
				t.Error(err)
			}
		}
	})
}
