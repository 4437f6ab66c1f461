package report_test

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"minikcm.dev/minikcm/internal/golden"
	"minikcm.dev/minikcm/internal/scenario/report"
	"minikcm.dev/minikcm/internal/scenario/runrecord"
)

// annotated are runs that failed and passed, and one that failed as expected.
func annotated(t *testing.T) []*runrecord.Run {
	t.Helper()
	runs := saved(t)
	runs[0].Scenario.File = "./test/50%, a:b\n.yaml"
	expected := *runs[0]
	expected.Verdict, expected.ExpectedFailure = runrecord.Passed, runs[0].Message
	return append(runs, &expected)
}

// Failures are annotations of the lines of the scenarios' files, whatever their texts hold.
func TestGitHub(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := report.GitHub(&out, annotated(t)); err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "testdata/github.golden", out.String())
}

func TestSARIF(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := report.SARIF(&out, annotated(t)); err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "testdata/sarif.golden.json", out.String())
	var empty struct{ Runs []struct{ Results []any } }
	out.Reset()
	if err := report.SARIF(&out, nil); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(out.String()), &empty); err != nil || len(empty.Runs) != 1 || empty.Runs[0].Results == nil {
		t.Errorf("without runs: %s (%v)", out.String(), err)
	}
}

// A run that failed as its scenario expects passes in each report, which says so.
func TestExpectedFailure(t *testing.T) {
	t.Parallel()
	run := annotated(t)[2]
	for name, write := range map[string]func(io.Writer) error{
		"text":  func(w io.Writer) error { return report.Text(w, run) },
		"HTML":  func(w io.Writer) error { return report.HTML(w, []*runrecord.Run{run}) },
		"JUnit": func(w io.Writer) error { return report.JUnit(w, []*runrecord.Run{run}) },
	} {
		var out strings.Builder
		if err := write(&out); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(strings.ToLower(out.String()), "failed as expected") || strings.Contains(out.String(), "<failure") {
			t.Errorf("%s: %s", name, out.String())
		}
	}
}

// Several runs are saved in one file, in their order, and one as before.
func TestSaveAll(t *testing.T) {
	t.Parallel()
	runs := saved(t)
	for _, some := range [][]*runrecord.Run{runs, runs[:1], nil} {
		file := filepath.Join(t.TempDir(), "runs.json")
		f, err := os.Create(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := runrecord.SaveAll(f, some); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		got, err := runrecord.LoadAll(file)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.EqualFunc(got, some, func(a, b *runrecord.Run) bool { return a.Scenario.Name == b.Scenario.Name }) {
			t.Errorf("%d of %d runs were read", len(got), len(some))
		}
		if _, err := runrecord.Load(file); (err == nil) != (len(some) == 1) {
			t.Errorf("reading one of %d runs: %v", len(some), err)
		}
	}
}
