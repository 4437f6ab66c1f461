package examples

import (
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"minikcm.dev/minikcm/internal/golden"
)

// machineClock matches the ends of lines with calls that this module allows to package clock alone.
var machineClock = regexp.MustCompile(`(?m)time\.(Now|Since)\(.*$`)

// copyOf returns a file of a program of the module examples as a file of this package. The
// function run gets the name and the comment of the program.
func copyOf(t *testing.T, program, path string) []byte {
	t.Helper()
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	comment, body, found := strings.Cut(string(source), "package main\n")
	if !found {
		t.Fatalf("%s is not of package main", path)
	}
	body = strings.Replace(body, "func main() { connect.Main(run) }\n", "", 1)
	body = strings.Replace(body, "\n\t\"minikcm.dev/minikcm/examples/connect\"\n", "", 1)
	body = strings.Replace(body, "func run(", comment+"func "+program+"(", 1)
	body = machineClock.ReplaceAllString(body, "$0 //verify:allow a program beside the cluster has the machine's time")
	header := fmt.Sprintf("// Code generated from examples/%s/%s by go generate. DO NOT EDIT.\n\npackage examples\n", program, filepath.Base(path))
	formatted, err := format.Source([]byte(header + body))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return formatted
}

// Every program of the module examples is here, as it is there.
func TestCopies(t *testing.T) {
	t.Parallel()
	mains, err := filepath.Glob("../../examples/*/main.go")
	if err != nil {
		t.Fatal(err)
	}
	var there, here []string
	for _, main := range mains {
		program := filepath.Base(filepath.Dir(main))
		there = append(there, program)
		files, err := filepath.Glob(filepath.Join(filepath.Dir(main), "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			name := program + ".go"
			if base := filepath.Base(file); base != "main.go" {
				name = program + "_" + base
			}
			golden.Compare(t, name, copyOf(t, program, file))
		}
	}
	for _, p := range Programs() {
		here = append(here, p.Name)
	}
	slices.Sort(here)
	if !slices.Equal(here, there) {
		t.Errorf("the table has %v, and the module examples %v", here, there)
	}
}
