package cellimits

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// FuzzFindAll compares the metered search with package regexp.
func FuzzFindAll(f *testing.F) {
	for _, pattern := range []string{
		"x", "x*", "x*?", "x(.*y)?", "x*y|x", "^x", "(?m)^.", "(?m)^", "x$", "(?m)$", `\b`, `\bx`, `\B`, `\Ax`, `x\z`, `\Qx`, `\Q(`, "(?i)X", "(?U)x+", "", "()", "(x)(y)?", "[^x]", "é|x", "(?P<a>x)", "x{2}|", ".",
	} {
		for _, text := range []string{"", "x", "xx", "xyx", "x x\nx\n", "éxé", "\xffx\xff", "axbxxc", "(x"} {
			f.Add(pattern, text, -1)
		}
	}
	f.Add("x", "xxx", 2)
	f.Add("x*", "axx", 0)
	f.Fuzz(func(t *testing.T, pattern, text string, n int) {
		re, err := regexp.Compile(pattern)
		if err != nil || len(text) > 1000 {
			t.Skip()
		}
		m, err := newMeter(re, 1, text)
		if err != nil {
			t.Skip(err) // the pattern with its prefix is too long
		}
		got, ok := m.findAll(n)
		if want := re.FindAllString(text, n); !ok || !slices.Equal(got, want) {
			t.Errorf("%q in %q: %q, want %q", pattern, text, got, want)
		}
	})
}

// A search that reads the rest of the string for each match is given up.
func TestFindAllGivesUp(t *testing.T) {
	m, err := newMeter(regexp.MustCompile("x(.*y)?"), 6, strings.Repeat("x", 100_000))
	if err != nil {
		t.Fatal(err)
	}
	if found, ok := m.findAll(-1); ok || m.steps > maxSteps+6+reading {
		t.Errorf("%d matches after %d steps", len(found), m.steps)
	}
}
