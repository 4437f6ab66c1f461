package cellimits_test

import (
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"minikcm.dev/minikcm/internal/cellimits"
)

func TestLimit(t *testing.T) {
	for range 2 {
		if err := cellimits.Limit(); err != nil {
			t.Fatal(err)
		}
	}
	base := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	for name, env := range map[string]*cel.Env{"new": base.NewExpressionsEnv(), "stored": base.StoredExpressionsEnv()} {
		env, err := env.Extend(cel.Variable("s", cel.StringType))
		if err != nil {
			t.Fatal(err)
		}
		for expression, want := range map[string]string{
			"'abab'.replace('a', 'cc')":                   "ccbccb",
			"'abab'.replace('a', 'cc', 1)":                "ccbab",
			"'abab'.replace('a', 'cc', 0)":                "abab",
			"'abab'.replace('a', 'cc', -1)":               "ccbccb",
			"'äb'.replace('', '-')":                       "-ä-b-",
			"['a', 'b'].join()":                           "ab",
			"['a', 'b', ''].join('--')":                   "a--b--",
			"[''].map(i, 'a').filter(i, i == '').join()":  "",
			"string(s.replace('', s, 3).size())":          "400000",
			"string(s.replace('x', '').size())":           "0",
			"string(quantity('1.5k').asInteger())":        "1500",
			"string(isQuantity('1e3'))":                   "true",
			"string(isQuantity('much'))":                  "false",
			"string(quantity('much').asInteger())":        "error: quantities must match",
			"string(isQuantity('1e-99999999'))":           "error: a quantity has more than",
			"string(quantity('1e-99999999').asInteger())": "error: a quantity has more than",
			"string(quantity(s).asInteger())":             "error: a quantity has more than",
			"s.replace('', s)":                            "error: replace: the result would have",
			"s.replace('x', s, 1000)":                     "error: replace: the result would have",
			"s.split('').join(s)":                         "error: join: the result would have",
		} {
			ast, issues := env.Compile(expression)
			if issues.Err() != nil {
				t.Errorf("%s, %s: %v", name, expression, issues.Err())
				continue
			}
			program, err := env.Program(ast)
			if err != nil {
				t.Fatal(err)
			}
			out, _, err := program.Eval(map[string]any{"s": strings.Repeat("x", 100_000)})
			got := ""
			if err != nil {
				got = "error: " + err.Error()
			} else {
				got, _ = out.Value().(string)
			}
			if got != want && !(strings.HasPrefix(want, "error") && strings.HasPrefix(got, want)) {
				t.Errorf("%s, %s: %.100q, want %q", name, expression, got, want)
			}
		}
	}
}
