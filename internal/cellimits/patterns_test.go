package cellimits_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"minikcm.dev/minikcm/internal/cellimits"
)

func TestPatterns(t *testing.T) {
	if err := cellimits.Limit(); err != nil {
		t.Fatal(err)
	}
	env, err := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).NewExpressionsEnv().Extend(
		cel.Variable("long", cel.StringType), cel.Variable("some", cel.StringType), cel.Variable("bad", cel.StringType), cel.Variable("costly", cel.StringType), cel.Variable("dyn", cel.DynType))
	if err != nil {
		t.Fatal(err)
	}
	const costly = "(((x{0,10}){0,10}){0,10})*$"
	values := map[string]any{"long": strings.Repeat("x", 1_400_000), "bad": "(", "costly": costly, "dyn": 7, "some": strings.Repeat("x", 10_000)}
	const tooLong = "error: matching a string of 1400000 bytes with a pattern of"
	for expression, want := range map[string]string{
		"'web-1'.matches('^web-[0-9]+$')":                           "true",
		"matches('web-1', '^db')":                                   "false",
		"'web-1'.matches('^' + 'web')":                              "true",
		"'a1b22'.find('[0-9]+')":                                    "1",
		"'a1b22'.find('[0-9]' + '+')":                               "1",
		"'a1b22'.findAll('[0-9]+')":                                 "[1 22]",
		"'a1b22'.findAll('[0-9]+', 1)":                              "[1]",
		"'a1b22'.findAll('[0-9]' + '+', 1)":                         "[1]",
		"['a', 'b1'].exists(s, s.matches('[0-9]'))":                 "true",
		"long.matches('^x+$')":                                      "true",
		"'xx'.matches(costly)":                                      "true",
		"long.matches('" + costly + "')":                            tooLong,
		"matches(long, '" + costly + "')":                           tooLong,
		"long.matches(costly)":                                      tooLong,
		"long.find('" + costly + "') == ''":                         tooLong,
		"long.findAll(costly) == []":                                tooLong,
		"[long].exists(s, s.findAll('" + costly + "', 2).size()>0)": tooLong,
		"long.findAll('x(.*y)?') == []":                             "error: finding all matches in a string of 1400000 bytes takes more than 160000000 steps",
		"some.findAll('x*y' + '|x').size() == 10":                   "error: finding all matches in a string of 10000 bytes takes more than",
		"some.findAll('x').size()":                                  "10000",
		"long.findAll('x{1000}').size()":                            "error: matching a string",
		"long.findAll('xx').size()":                                 "700000",
		"some.findAll('x(.*y)?', 2)":                                "[x x]",
		"some.findAll('x(.*y)?', 0)":                                "[]",
		"'x'.matches(bad)":                                          "error: error parsing regexp: missing closing ): `(`",
		"'x'.find(bad)":                                             "error: Illegal regex: error parsing regexp: missing closing ): `(`",
		"dyn.matches('x')":                                          "error: no such overload",
		"'x'.matches('(')":                                          "compile: ERROR: <input>:1:13: invalid matches argument",
	} {
		if got := evaluate(t, env, expression, values, 1e12); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", expression, got, want)
		}
	}
	// Each call is within the limit, and the loop is not.
	for _, loop := range []string{
		"[1, 2, 3, 4, 5, 6, 7, 8, 9].all(i, some.matches('" + costly + "'))",
		"[1, 2, 3, 4, 5, 6, 7, 8, 9].all(i, some.findAll('x(.*y)?', 100).size() == 100)",
		"lists.range(4000).all(i, 'x'.matches(costly))",
	} {
		if got, want := evaluate(t, env, loop, values, 1e6), "error: operation cancelled: actual cost limit exceeded"; got != want {
			t.Errorf("%s: %s, want %s", loop, got, want)
		}
	}
}

// evaluate returns the value of an expression, or its error.
func evaluate(t *testing.T, env *cel.Env, expression string, values map[string]any, limit uint64) string {
	t.Helper()
	ast, issues := env.Compile(expression)
	if issues.Err() != nil {
		return "compile: " + issues.Err().Error()
	}
	program, err := env.Program(ast, cel.EvalOptions(cel.OptOptimize, cel.OptTrackCost), cel.CostLimit(limit))
	if err != nil {
		return "program: " + err.Error()
	}
	out, details, err := program.Eval(values)
	if err != nil {
		return "error: " + err.Error()
	}
	if cost := details.ActualCost(); cost == nil || *cost == 0 && strings.Contains(expression, "costly") {
		t.Errorf("%s: no cost was counted", expression)
	}
	return fmt.Sprint(out.Value())
}
