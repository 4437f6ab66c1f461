package box

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/golden"
)

// Scripts write the same as under bash, except for programs' errors: see the expected output.
func TestScripts(t *testing.T) {
	data, err := os.ReadFile("testdata/scripts.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for script := range strings.SplitSeq(string(data), "\n====\n") {
		m := newMachine(clock.Real(), nil)
		m.Dir = "/tmp"
		out, _, code := run(t, m, "", "sh", "-c", script, "sh", "p1", "p 2")
		fmt.Fprintf(&all, "%s\n---- ended with %d\n%s====\n", strings.TrimSuffix(script, "\n"), code, out)
		if used := m.Memory.Used(); used > 8<<10 { // files
			t.Errorf("%d bytes stay reserved after:\n%s", used, script)
		}
	}
	golden.Compare(t, "testdata/scripts.golden", all.String())
}
