package celtext_test

import (
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"

	"minikcm.dev/minikcm/internal/celtext"
)

func TestLimits(t *testing.T) {
	t.Parallel()
	env, err := cel.NewCustomEnv(celtext.StdLib(), celtext.Matches(), ext.Strings(), celtext.Replace(), celtext.Join(), cel.Variable("long", cel.StringType))
	if err != nil {
		t.Fatal(err)
	}
	input := map[string]any{"long": strings.Repeat("a", 100_000)}
	for expression, want := range map[string]string{
		`"abc".matches("b")`:                        "",
		`matches("abc", "^b")`:                      "",
		`long.matches("^a*$")`:                      "",
		`"a".matches("(")`:                          "missing closing",
		`"a".matches(long)`:                         "a pattern has 100000 bytes",
		`"a".matches("(((a{0,10}){0,10}){0,9})*$")`: "too many steps",
		`long.matches("(a{0,100}b)*$")`:             "too many steps",
		`"aba".replace("b", "c") == "aca"`:          "",
		`long.replace("", long)`:                    "the result would have",
		`["a", "b"].join("-") == "a-b"`:             "",
		`long.split("").join(long)`:                 "the result would have",
	} {
		ast, issues := env.Compile(expression)
		if issues.Err() != nil {
			t.Errorf("%s: %v", expression, issues.Err())
			continue
		}
		program, err := env.Program(ast)
		if err != nil {
			t.Errorf("%s: %v", expression, err)
			continue
		}
		if _, _, err := program.Eval(input); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", expression, err, want)
		}
	}
}
