package main

import (
	"strings"
	"testing"

	"minikcm.dev/minikcm/internal/examples"
)

// The examples are listed, and a mistyped name or a missing cluster is an error that says what to do.
func TestExamples(t *testing.T) {
	t.Parallel()
	list := launch(t, t.TempDir(), "run", "example")
	code, out := list.end()
	for _, program := range examples.Programs() {
		if code != 0 || !strings.Contains(out, "\n"+program.Name+" ") {
			t.Errorf("%s is not listed; the list ends with %d:\n%s", program.Name, code, out)
		}
	}
	for name, want := range map[string]string{
		"restclint":  `there is no example "restclint"; did you mean restclient?`,
		"unknown":    `there is no example "unknown"; there are restclient, clientset,`,
		"restclient": `start a cluster with "minikcm up"`,
	} {
		p := launch(t, t.TempDir(), "run", "example", name)
		if code, _ := p.end(); code == 0 || !strings.Contains(p.stderr.String(), want) {
			t.Errorf("example %s ends with %d: %s", name, code, p.stderr.String())
		}
	}
}
