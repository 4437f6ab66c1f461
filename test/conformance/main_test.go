package main

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"testing"
)

const report = `[{"SpecReports":[
 {"ContainerHierarchyTexts":null,"LeafNodeType":"SynchronizedBeforeSuite","LeafNodeText":"","State":"passed"},
 {"ContainerHierarchyTexts":["[sig-a] A","when b"],"LeafNodeType":"It","LeafNodeText":"works (twice)","State":"passed"},
 {"ContainerHierarchyTexts":["[sig-a] A"],"LeafNodeType":"It","LeafNodeText":"is new","State":"passed"},
 {"ContainerHierarchyTexts":["[sig-a] A"],"LeafNodeType":"It","LeafNodeText":"breaks","State":"failed","Failure":{"Message":"expected 1\ngot 2"}},
 {"ContainerHierarchyTexts":["[sig-a] A"],"LeafNodeType":"It","LeafNodeText":"never worked","State":"panicked"},
 {"ContainerHierarchyTexts":["[sig-a] A"],"LeafNodeType":"It","LeafNodeText":"is not run","State":"skipped"},
 {"ContainerHierarchyTexts":["[sig-a] A"],"LeafNodeType":"It","LeafNodeText":"skips","State":"skipped","Failure":{"Message":"needs ssh"}},
 {"ContainerHierarchyTexts":["[sig-a] A"],"LeafNodeType":"It","LeafNodeText":"skips, not listed","State":"skipped","Failure":{"Message":"needs ssh"}}]}]`

func TestCompare(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report.json")
	if err := os.WriteFile(path, []byte(report), 0o600); err != nil {
		t.Fatal(err)
	}
	results, err := readReport(path)
	if err != nil {
		t.Fatal(err)
	}
	l := &list{names: []string{"[sig-a] A breaks", "[sig-a] A is not run", "[sig-a] A skips", "[sig-a] A was renamed", "[sig-a] A when b works (twice)"}}
	got := l.compare(results)
	want := verdict{
		passed: 2,
		lost: []result{
			{name: "[sig-a] A breaks", reason: "expected 1"},
			{name: "[sig-a] A skips", skipped: true, reason: "needs ssh"},
		},
		failed:  []result{{name: "[sig-a] A never worked"}},
		gained:  []string{"[sig-a] A is new"},
		unknown: []string{"[sig-a] A was renamed"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("compare() = %+v, want %+v", got, want)
	}
	if got.err() == nil {
		t.Error("a lost test is no error")
	}
	if (verdict{passed: 1, unknown: []string{"x"}}).err() == nil {
		t.Error("an unknown name is no error")
	}
	if (verdict{}).err() == nil {
		t.Error("that nothing ran is no error")
	}
}

func TestPatternMatchesItsNames(t *testing.T) {
	l := &list{names: []string{"[sig-a] A when b works (twice)", "[sig-a] A *really* works"}}
	pattern := regexp.MustCompile(l.pattern(true))
	for _, name := range l.names {
		if !pattern.MatchString(name) {
			t.Errorf("the pattern does not match %q", name)
		}
	}
}

func TestUpdateKeepsTheListSorted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "passing.txt")
	if err := (&list{path: path, names: []string{"b", "old"}}).update(verdict{gained: []string{"c", "a", "b"}, unknown: []string{"old"}}); err != nil {
		t.Fatal(err)
	}
	got, err := readList(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"a", "b", "c"}; !reflect.DeepEqual(got.names, want) {
		t.Errorf("the list is %q, want %q", got.names, want)
	}
}
