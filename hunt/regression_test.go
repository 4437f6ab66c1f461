package hunt

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"slices"
	"strings"
	"testing"
)

// A finding's test is a file of the package of the test that found it, with its build constraint.
func TestWriteTest(t *testing.T) {
	t.Chdir(t.TempDir())
	const beside = "//go:build hunts\n\npackage controller_test\n\nimport \"testing\"\n\nfunc TestSite(t *testing.T) {}\n"
	for name, text := range map[string]string{"a_test.go": "package controller_test\nfunc TestSite(", "site_test.go": beside} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	at := Disturbance{Action: CrashAfter, At: Point{Verb: "create", Resource: "pods", Namespace: "default", Name: `a"b`, Nth: 1}}
	h := &hunter{settings: settings{tests: true}, base: &outcome{}}
	f := &finding{first: &outcome{disturbances: []Disturbance{at}}, verdict: verdict{differences: []difference{{kind: "Pod", name: "a", with: "exists"}}}}
	file, err := h.writeTest(&call{test: "TestSite", within: "of one#2"}, f)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(file, "sitehunt_crash_atomicity_") {
		t.Errorf("the file is %s", file)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"//go:build hunts\n\npackage controller_test\n", "//\tPod a exists, undisturbed it does not\n", `hunt.Repeat(t, TestSite, "of one#2", []string{`, `"crash after create pods default/a\"b",`,
	} {
		if !strings.Contains(strings.ReplaceAll(string(text), "//\t  ", "//\t"), want) {
			t.Errorf("the file has no %q:\n%s", want, text)
		}
	}
	set := token.NewFileSet()
	var files []*ast.File
	for _, name := range []string{"site_test.go", file} {
		parsed, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, parsed)
	}
	hunted, tests := types.NewPackage("minikcm.dev/minikcm/hunt", "hunt"), types.NewPackage("testing", "testing")
	typeT := types.NewTypeName(token.NoPos, tests, "T", nil)
	types.NewNamed(typeT, types.NewStruct(nil, nil), nil)
	tests.Scope().Insert(typeT)
	var mistakes []string
	config := types.Config{Importer: imports{"minikcm.dev/minikcm/hunt": hunted, "testing": tests}, Error: func(err error) { mistakes = append(mistakes, err.Error()) }}
	_, _ = config.Check("controller_test", set, files, nil) // its errors are in mistakes
	if len(mistakes) != 1 || !strings.Contains(mistakes[0], "undefined: hunt.Repeat") {
		t.Errorf("the file has the mistakes %q, want only that this hunt has no Repeat", mistakes)
	}
	if _, err := h.writeTest(&call{test: "TestOther"}, f); err == nil || !strings.Contains(err.Error(), "has a function TestOther") {
		t.Errorf("the test of a function that is nowhere: %v", err)
	}
}

// imports are the packages that a file can import.
type imports map[string]*types.Package

func (i imports) Import(path string) (*types.Package, error) {
	i[path].MarkComplete()
	return i[path], nil
}

// A call of Run is found by its subtest and its number.
func TestCalls(t *testing.T) {
	t.Parallel()
	repeated := &repetition{within: "one#2"}
	calls.repeat(t.Name(), repeated)
	var skipped []bool
	for _, name := range []string{"other", "one"} {
		t.Run(name, func(t *testing.T) {
			for range 3 {
				c := calls.begin(t)
				skipped = append(skipped, c.skipped())
			}
		})
	}
	found := calls.forget(t.Name(), repeated)
	if got, want := skipped, []bool{true, true, true, true, false, true}; !found || !slices.Equal(got, want) {
		t.Errorf("found: %v, skipped: %v, want %v", found, got, want)
	}
	if c := calls.begin(t); c.skipped() || c.repetition != nil || c.within != "" {
		t.Errorf("after it, a call is %+v", c)
	}
}
