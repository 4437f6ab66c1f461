package hunt

import (
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/format"
	"go/parser"
	"go/token"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
	"unicode"
)

// WithTests makes Run write a regression test of each finding: a file beside the test that calls Run, as
// sitehunt_crash_atomicity_1a2b3c4d_test.go beside TestSite. It fails until the bug is repaired. Writing it again changes nothing.
func WithTests() Option { return func(s *settings) { s.tests = true } }

// name identifies a finding in the names of files and tests: "crash_atomicity_1a2b3c4d".
func (f *finding) name() string {
	sum := fnv.New32a()
	for _, d := range f.first.disturbances {
		_, _ = fmt.Fprintln(sum, d) // a hash takes everything
	}
	return fmt.Sprintf("%s_%08x", strings.ReplaceAll(f.class(), " ", "_"), sum.Sum32())
}

// source is a test's function in the files of its package.
type source struct {
	// pkg is the name of the package, and constraint its build constraint, which may be empty.
	pkg, constraint string
}

// findTest looks for the function of a test in the folder in which the tests of its package run.
func findTest(name string) (*source, error) {
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			continue // it is none of the files that the test was built from
		}
		for _, declaration := range parsed.Decls {
			if f, ok := declaration.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == name {
				return &source{parsed.Name.Name, constraintOf(parsed)}, nil
			}
		}
	}
	return nil, fmt.Errorf("no file *_test.go of the folder in which the test runs has a function %s", name)
}

// constraintOf returns the build constraint of a file, with a line for it; empty if there is none.
func constraintOf(file *ast.File) string {
	for _, group := range file.Comments {
		for _, line := range group.List {
			if group.Pos() < file.Package && constraint.IsGoBuild(line.Text) {
				return line.Text + "\n\n"
			}
		}
	}
	return ""
}

// writeTest writes the regression test of a finding, and returns the file's name.
func (h *hunter) writeTest(c *call, f *finding) (string, error) {
	found, err := findTest(c.test)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	function := c.test + "Hunt" + camel(f.name())
	fmt.Fprintf(&b, "%spackage %s\n\nimport (\n\t\"testing\"\n\n\t\"minikcm.dev/minikcm/hunt\"\n)\n\n", found.constraint, found.pkg)
	fmt.Fprintf(&b, "// %s repeats a finding of %s: %s.\n//\n", function, c.test, f.class())
	for line := range strings.Lines(h.ending(f.verdict)) {
		fmt.Fprintf(&b, "//\t%s\n", strings.TrimRight(strings.TrimPrefix(line, "  "), "\n"))
	}
	fmt.Fprintf(&b, "func %s(t *testing.T) {\n\thunt.Repeat(t, %s, %q, []string{\n", function, c.test, c.within)
	for _, d := range f.first.disturbances {
		fmt.Fprintf(&b, "\t\t%q,\n", d)
	}
	b.WriteString("\t})\n}\n")
	text, err := format.Source([]byte(b.String()))
	if err != nil {
		return "", err
	}
	file := strings.ToLower(strings.TrimPrefix(c.test, "Test")) + "hunt_" + f.name() + "_test.go"
	return file, os.WriteFile(file, text, 0o600)
}

// camel writes a name as a part of a Go identifier.
func camel(name string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(name, "_") {
		for i, r := range word {
			if i == 0 {
				r = unicode.ToUpper(r)
			}
			b.WriteRune(r)
		}
	}
	return b.String()
}
