package report_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"

	"minikcm.dev/minikcm/internal/golden"
	"minikcm.dev/minikcm/internal/scenario/report"
	"minikcm.dev/minikcm/internal/scenario/runrecord"
)

// saved runs were recorded: one that failed, and one that passed.
func saved(t *testing.T) []*runrecord.Run {
	t.Helper()
	var runs []*runrecord.Run
	for _, name := range []string{"failed", "passed"} {
		run, err := runrecord.Load("testdata/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, run)
	}
	return runs
}

func TestText(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	for _, run := range saved(t) {
		if err := report.Text(&out, run); err != nil {
			t.Fatal(err)
		}
		out.WriteString("\n")
	}
	golden.Compare(t, "testdata/text.golden", out.String())
}

func TestJUnit(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := report.JUnit(&out, saved(t)); err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "testdata/junit.golden.xml", out.String())
}

// allowed are the elements of JUnit XML, with what they may hold, in its order, and
// the attributes they need, as the schema of JUnit's Ant task has them.
var allowed = map[string]struct{ children, attributes string }{
	"testsuites": {"testsuite", "name tests failures errors time"},
	"testsuite":  {"properties testcase system-out system-err", "name package id timestamp hostname tests failures errors time"},
	"properties": {"property", ""},
	"property":   {"", "name value"},
	"testcase":   {"skipped error failure", "name classname time"},
	"skipped":    {"", ""},
	"error":      {"", "message type"},
	"failure":    {"", "message type"},
	"system-out": {"", ""},
	"system-err": {"", ""},
}

// The JUnit report is valid, as CI systems expect, whatever the run holds.
func TestJUnitIsValid(t *testing.T) {
	t.Parallel()
	runs := saved(t)
	runs[1].Verdict, runs[1].Message = runrecord.Interrupted, "it was \x00 ended ]]> & <so>"
	runs[1].Scenario.Name = "<odd \x1b name>"
	var out strings.Builder
	if err := report.JUnit(&out, runs); err != nil {
		t.Fatal(err)
	}
	decoder := xml.NewDecoder(strings.NewReader(out.String()))
	type open struct {
		name string
		last int
	}
	var path []open
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			rule, known := allowed[token.Name.Local]
			if !known {
				t.Fatalf("<%s> is not JUnit's", token.Name.Local)
			}
			for _, attribute := range token.Attr {
				rule.attributes = strings.TrimSpace(strings.Replace(" "+rule.attributes+" ", " "+attribute.Name.Local+" ", " ", 1))
			}
			if rule.attributes != "" {
				t.Errorf("<%s> lacks %s", token.Name.Local, rule.attributes)
			}
			if len(path) > 0 {
				parent := &path[len(path)-1]
				at := strings.Index(" "+allowed[parent.name].children+" ", " "+token.Name.Local+" ")
				if at < parent.last {
					t.Errorf("<%s> must not come here in <%s>", token.Name.Local, parent.name)
				}
				parent.last = at
			}
			path = append(path, open{name: token.Name.Local})
		case xml.EndElement:
			path = path[:len(path)-1]
		}
	}
}

// A check of a run's end is a test case that has failed, not an error.
func TestJUnitOfTheEnd(t *testing.T) {
	t.Parallel()
	run := saved(t)[1]
	run.Verdict, run.Message, run.Failures = runrecord.Failed, "leak: one", []runrecord.Failure{{Span: -1, Check: "the hunt", Message: "leak: one\nat the end"}}
	var out strings.Builder
	if err := report.JUnit(&out, []*runrecord.Run{run}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`failures="1" errors="0"`, `<testcase name="the hunt" `, `<failure message="leak: one" type="Failed">leak: one&#xA;at the end</failure>`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report has no %s:\n%s", want, out.String())
		}
	}
}

// The page needs nothing beside itself, runs no script and lets nothing of a run
// become markup.
func TestHTML(t *testing.T) {
	t.Parallel()
	runs := saved(t)
	runs[0].Spans[0].Title = "<script>alert(1)</script>"
	runs[0].Events[0].Reason = "<img src=x>"
	var out strings.Builder
	if err := report.HTML(&out, runs); err != nil {
		t.Fatal(err)
	}
	page := out.String()
	if found := regexp.MustCompile(`(?i)<script|<img|<link|https?://|url\(|@import`).FindAllString(page, -1); found != nil {
		t.Errorf("the page has %q", found)
	}
	for _, want := range []string{"Pods by phase", "Controller activity", "What failed", "Timeline", "phase-ready", "fault-band", "prefers-color-scheme: dark", "expected 1, found 0"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Count(page, "<svg") != strings.Count(page, "</svg>") || strings.Count(page, "<svg") != 8 {
		t.Errorf("there are %d plots", strings.Count(page, "<svg"))
	}
}

// Reports of a run whose pods could not be scheduled have the scheduler's message where
// each of them is read first, and what else was not as expected.
func TestNotReady(t *testing.T) {
	t.Parallel()
	run, err := runrecord.Load("testdata/pending.json")
	if err != nil {
		t.Fatal(err)
	}
	var text, page, junit strings.Builder
	if err := errors.Join(report.Text(&text, run), report.HTML(&page, []*runrecord.Run{run}), report.JUnit(&junit, []*runrecord.Run{run})); err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "testdata/pending.golden", text.String())
	const message, crash = "PodScheduled is False (Unschedulable): 0/3 nodes are available: 3 Insufficient cpu.", "pod/crash in shop: not ready because container c is waiting (CrashLoopBackOff)"
	for _, want := range []string{message, crash, "Not as expected in the end"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if first := regexp.MustCompile(`<failure message="[^"]*`).FindString(junit.String()); !strings.Contains(first, message) {
		t.Errorf("CI shows of the failure %s", first)
	}
}

// An empty run can be shown, too.
func TestEmptyRun(t *testing.T) {
	t.Parallel()
	run := &runrecord.Run{Verdict: runrecord.Interrupted, Message: "at once"}
	for name, write := range map[string]func(io.Writer) error{
		"text":     func(w io.Writer) error { return report.Text(w, run) },
		"HTML":     func(w io.Writer) error { return report.HTML(w, []*runrecord.Run{run}) },
		"JUnit":    func(w io.Writer) error { return report.JUnit(w, []*runrecord.Run{run}) },
		"failures": func(w io.Writer) error { return report.Failures(w, run) },
	} {
		if err := write(io.Discard); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A policy with the source of the style allows it as it is in the page.
func TestStyleSource(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := report.HTML(&out, saved(t)); err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(out.String(), "<style>")
	style, rest, found := strings.Cut(rest, "</style>")
	sum := sha256.Sum256([]byte(style))
	if want := "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !found || report.StyleSource() != want {
		t.Errorf("the source is %s, want %s", report.StyleSource(), want)
	}
	if strings.Contains(rest, "<style") || strings.Contains(rest, " style=") {
		t.Error("the page has another style, which a policy with this source forbids")
	}
}
