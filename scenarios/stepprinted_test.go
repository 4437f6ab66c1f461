//go:build unix

package scenarios

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A program in the background prints a line for each step, and those that wait for a line see it
// while the program runs. Each line is found once.
func TestPrinted(t *testing.T) {
	t.Parallel()
	steps := `    - name: counter
      background: true
      script: {run: 'echo one; until [ -e "$GO" ]; do :; done; echo two; echo one; printf three; sleep 300', env: {GO: FILE}, speed: 1}
    - printed: {by: counter, text: on}
    - script: {run: 'touch "$GO"', env: {GO: FILE}}
    - printed: {by: counter, text: one}
`
	steps = header + "  cluster: {nodes: 1}\n  steps:\n" + strings.ReplaceAll(steps, "FILE", strconv.Quote(filepath.Join(t.TempDir(), "go")))
	result, tr := runScenario(t, steps, Options{})
	if result.Failure != nil {
		t.Errorf("%v\n%s", result.Failure, tr)
	}
	for _, test := range []struct{ step, want string }{
		{"- printed: {by: counter, text: two, within: 100ms}", `not within 100ms: the last line that it has printed is "one"`},
		{"- printed: {by: counter, text: three, within: 100ms}", `not within 100ms: the last line`},
	} {
		if result, tr := runScenario(t, steps+"    "+test.step+"\n", Options{}); result.Failure == nil || !strings.Contains(result.Failure.Error(), test.want) {
			t.Errorf("%s: %v, want %s\n%s", test.step, result.Failure, test.want, tr)
		}
	}
}

// A wait for a program that the scenario does not run is found before anything starts.
func TestPrintedByUnknown(t *testing.T) {
	t.Parallel()
	for steps, want := range map[string]string{
		"- printed: {by: counter, text: one}": "scenario.yaml:7: printed.by: no step with a name runs a program in the background",
		"- {name: countr, background: true, script: {run: echo one}}\n    - printed: {by: counter, text: one}": `scenario.yaml:8: printed.by: no program runs in the background as "counter"; there are countr`,
		"- {name: counter, script: {run: echo one}}\n    - printed: {by: counter, text: one}":                  "no step with a name runs a program in the background",
	} {
		found, err := Parse("scenario.yaml", []byte(header+"  steps:\n    "+steps+"\n"), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := Possible(found[0], OwnCluster); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n%v, want %s", steps, err, want)
		}
	}
}

// An example runs by the command of the options, with the kubeconfig of the cluster.
func TestExample(t *testing.T) {
	t.Parallel()
	const steps = header + "  cluster: {nodes: 1}\n  steps:\n    - example: {program: podinformer, output: [podinformer reads kubeconfig]}\n"
	command := func(name string) []string {
		return []string{"sh", "-euc", `echo "$0 reads $(basename "$KUBECONFIG")"`, name}
	}
	if result, tr := runScenario(t, steps, Options{Example: command}); result.Failure != nil {
		t.Errorf("%v\n%s", result.Failure, tr)
	}
}
