package fault

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"minikcm.dev/minikcm/internal/golden"
	"minikcm.dev/minikcm/internal/scenario/spec"
)

// Faults are read strictly, each problem with its line and field.
func TestParse(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	for _, text := range []string{
		"nodes: {action: crash, names: [node-1]}\nfor: 5m\n---\npods:\n  action: kill\n",
		`{"etcd": {"action": "slow", "delay": "2s"}, "for": "1m"}`,
		"nodes:\n  action: explode\nfor: soon\n",
		"pods:\n  action: kill\n  selctor: app=web\n",
		"nodes: {action: crash, names: ['${NODE}']}",
		"nodes: {action: slow}\n---\nclock: {action: jump}\n",
		"- nodes\n",
		"network: {action: duplicate}\n",
		"network: {action: partition}\n---\nnetwork: {action: reset, namespace: shop}\n",
		"network: {action: delay, from: [web], to: [pvc/x], direction: sideways}\n---\nnetwork: {action: loss}\n---\nnetwork: {action: bandwidth, rate: fast}\n",
		"dns: {action: wrong, address: here, from: [node/]}\n---\nhttp: {action: replace}\n---\nhttp: {action: abort, code: 503}\n",
		"http: {action: patch}\n---\nhttp: {action: patch, headers: [x], answerPatch: '{', port: -1}\n---\nhttp: {action: patch, answerPatch: '{\"a\": 1}', path: /a*}\n",
		"nodes",
		"{nodes: &a {action: crash}, pods: *a}",
		"nodes: {action: crash",
		"",
		"---\n---\n",
	} {
		faults, err := Parse("fault.yaml", []byte(text))
		fmt.Fprintf(&out, "%s\n", strings.TrimSuffix(text, "\n"))
		var syntax *spec.SyntaxError
		switch {
		case errors.As(err, &syntax):
			fmt.Fprintf(&out, "  no YAML: %v\n", err)
		case err != nil:
			fmt.Fprintf(&out, "  %s\n", strings.ReplaceAll(err.Error(), "\n", "\n  "))
		default:
			for _, f := range faults {
				fmt.Fprintf(&out, "  %s\n", f.Title())
			}
		}
	}
	golden.Compare(t, "testdata/faults.golden", out.String())
}

// Whatever is sent is read or refused, within bounds.
func FuzzParse(f *testing.F) {
	f.Add([]byte("nodes: {action: crash, names: [node-1]}\nfor: 5m\n"))
	f.Add([]byte(`{"pods": {"action": "kill", "percent": 30}, "every": "10s", "times": 6}`))
	f.Add([]byte("a: &a [*a]"))
	f.Add([]byte("[[[[[[[["))
	f.Fuzz(func(t *testing.T, data []byte) {
		faults, err := Parse("fault", data)
		if err == nil && len(faults) == 0 {
			t.Error("there are neither faults nor an error")
		}
		for _, fault := range faults {
			_ = fault.Title()
		}
	})
}
