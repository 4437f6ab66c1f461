package featuregates

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"minikcm.dev/minikcm/internal/releases"
)

var update = flag.Bool("update", false, "write the table in docs/feature-gates.md, with what it says about each gate")

const page = "../../docs/feature-gates.md"

const tableHead = "| gate | stage | default | switch | here |\n| --- | --- | --- | --- | --- |\n"

var verdict = regexp.MustCompile(`^(works|nothing to show: .+|missing)(, .+|: .+)?$`)

// TestDocs checks that the page has a row for each gate of the newest release, with its stage and default,
// and says what the gate is here.
func TestDocs(t *testing.T) {
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rows, ok := strings.Cut(string(data), tableHead)
	if !ok {
		t.Fatalf("%s has no table of the gates", page)
	}
	said := map[string]string{}
	for line := range strings.Lines(rows) {
		if words := strings.Split(line, " | "); len(words) == 5 {
			said[strings.Trim(words[0], "| ")] = strings.Trim(words[4], "| \n")
		}
	}
	effective := Effective()
	var b strings.Builder
	for _, name := range releases.Newest.Gates() {
		gate, _ := releases.Newest.Gate(name)
		value := "off"
		if gate.On {
			value = "on"
		}
		if gate.Locked {
			value += ", locked"
		}
		switches := ""
		if slices.Contains(effective, name) && !gate.Locked {
			switches = "yes"
		}
		if !verdict.MatchString(said[name]) {
			t.Errorf("%s: %q says neither that it works, nor that there is nothing to show and why, nor that it is missing", name, said[name])
		}
		if strings.HasPrefix(said[name], "missing") && !gate.On && !strings.Contains(said[name], "off by default") {
			t.Errorf("%s is missing and off by default, but the page does not say so", name)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", name, gate.Stage, value, switches, said[name])
	}
	if *update {
		if err := os.WriteFile(page, []byte(before+tableHead+b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if b.String() != rows {
		t.Errorf("the table of %s is not that of the gates: -update rewrites it", page)
	}
}
