package check

import (
	"errors"
	"strings"
	"testing"
)

// What must hold says true or false; a value that is kept may be anything.
func TestCompileCheck(t *testing.T) {
	for text, good := range map[string]bool{
		"size(pods) == 3": true, "pods.all(p, true)": true, "pods[0].spec.paused": true, "vars.READY": false,
		"size(pods)": false, "pods.map(p, p)": false, `"yes"`: false,
	} {
		if err := CompileCheck(text, []string{"pods"}, true); (err == nil) != good || !good && !strings.Contains(err.Error(), "compare it") {
			t.Errorf("%s: %v", text, err)
		}
		if err := CompileCheck(text, []string{"pods"}, false); err != nil {
			t.Errorf("%s as a value: %v", text, err)
		}
	}
}

// The error of an expression that does not hold says what the names in it stand for, and how
// to test for fields that are not set.
func TestExpressionDiffers(t *testing.T) {
	pod := func(name string) map[string]any {
		return map[string]any{"kind": "Pod", "metadata": map[string]any{"name": name}}
	}
	given := map[string]any{"web": pod("web"), "pods": []any{pod("a"), pod("b")}, "gone": nil}
	for text, want := range map[string]string{
		"pods.size() == 3":                            "pods.size() == 3 is false\n  gone is null: there is none\n  pods has 2 items: a, b",
		`pods.all(p, p.status.phase == "Running")`:    "pods.all(p, p.status.phase == \"Running\"): no such key: status: ask first whether it is there, as in has(object.status)\n  gone is null: there is none\n  pods has 2 items: a, b",
		"gone.status.replicas > 1 || pods.size() > 2": "",
	} {
		e, err := Compile(text, []string{"gone", "pods", "web"})
		if err != nil {
			t.Fatal(err)
		}
		err = e.Holds(&World{}, given)
		var d *Differs
		if !errors.As(err, &d) || want != "" && d.Error() != want {
			t.Errorf("%s: got %v, want %s", text, err, want)
			continue
		}
		if len(d.Objects) != 3 || d.Objects[0].GetName() != "web" {
			t.Errorf("%s: it is about %v", text, d.Objects)
		}
	}
}
