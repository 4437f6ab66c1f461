package regexcost_test

import (
	"regexp/syntax"
	"testing"

	"minikcm.dev/minikcm/internal/regexcost"
)

// compiled returns the number of instructions of the compiled pattern.
func compiled(t *testing.T, pattern string) int {
	t.Helper()
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		t.Skip(err)
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		t.Skip(err)
	}
	return len(program.Inst)
}

func TestInstructions(t *testing.T) {
	for _, pattern := range []string{
		"", "abc", "[a-z]+", "a|b|cde", "(a)(b)", "^x?$", `^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`, "x{3,}", "(((x{0,10}){0,10}){0,10})*$", "(a*)*b", "(?:a|bc){2,5}",
	} {
		got, err := regexcost.Instructions(pattern)
		if want := compiled(t, pattern); err != nil || got < want/2-5 || got > 2*want+5 {
			t.Errorf("%s: %d instructions (%v), compiled %d", pattern, got, err, want)
		}
	}
	for _, pattern := range []string{"(", "x{1001}", "((x{100}){100}){100}"} {
		if got, err := regexcost.Instructions(pattern); err == nil {
			t.Errorf("%s: %d instructions, no error", pattern, got)
		}
	}
}

// No pattern compiles to many more instructions than Instructions says.
func FuzzInstructions(f *testing.F) {
	f.Add("(((x{0,10}){0,10}){0,10})*$")
	f.Add(`(?i)^(foo|ba[rz])+\d{3,}$`)
	f.Fuzz(func(t *testing.T, pattern string) {
		got, err := regexcost.Instructions(pattern)
		if err != nil || len(pattern) > 1000 {
			return
		}
		if want := compiled(t, pattern); 2*got+10 < want {
			t.Errorf("%q: %d instructions, compiled %d", pattern, got, want)
		}
	})
}
