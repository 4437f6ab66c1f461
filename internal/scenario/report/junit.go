package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"unicode"

	"minikcm.dev/minikcm/internal/scenario/runrecord"
)

// JUnit writes runs as JUnit XML, as CI systems read it: a suite for each run, a test
// case for each of its steps, and one for each other check. Times are the machine's.
// The error is w's.
func JUnit(w io.Writer, runs []*runrecord.Run) error {
	all := suites{Name: "minikcm scenarios"}
	for i, run := range runs {
		s := suiteOf(i, run)
		all.Suites = append(all.Suites, s)
		all.Tests += s.Tests
		all.Failures += s.Failures
		all.Errors += s.Errors
		all.seconds += run.Real.Seconds()
	}
	all.Time = seconds(all.seconds)
	data, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return fmt.Errorf("writing JUnit XML: %w", err)
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, data)
	return err
}

type suites struct {
	XMLName  xml.Name `xml:"testsuites"`
	Name     string   `xml:"name,attr"`
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Errors   int      `xml:"errors,attr"`
	Time     string   `xml:"time,attr"`
	Suites   []suite  `xml:"testsuite"`
	seconds  float64
}

type suite struct {
	Name       string     `xml:"name,attr"`
	Package    string     `xml:"package,attr"`
	ID         int        `xml:"id,attr"`
	Timestamp  string     `xml:"timestamp,attr"`
	Hostname   string     `xml:"hostname,attr"`
	Tests      int        `xml:"tests,attr"`
	Failures   int        `xml:"failures,attr"`
	Errors     int        `xml:"errors,attr"`
	Skipped    int        `xml:"skipped,attr"`
	Time       string     `xml:"time,attr"`
	Properties []property `xml:"properties>property"`
	Cases      []testCase `xml:"testcase"`
	Out        string     `xml:"system-out"`
	Err        string     `xml:"system-err"`
}

type property struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type testCase struct {
	Name      string   `xml:"name,attr"`
	ClassName string   `xml:"classname,attr"`
	Time      string   `xml:"time,attr"`
	Error     *problem `xml:"error,omitempty"`
	Failure   *problem `xml:"failure,omitempty"`
	Skipped   *skipped `xml:"skipped,omitempty"`
}

// skipped marks a step that was ended, or kept from beginning, by a failure elsewhere, which has a test
// case of its own, and a step that failed as the scenario expects.
type skipped struct {
	Message string `xml:"message,attr"`
}

type problem struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

func suiteOf(id int, run *runrecord.Run) suite {
	s := suite{
		Name: printable(run.Scenario.Name), Package: "minikcm.scenario", ID: id,
		Timestamp: run.Began.UTC().Format("2006-01-02T15:04:05"), Hostname: "localhost", Time: seconds(run.Real.Seconds()),
		Properties: []property{
			{"seed", fmt.Sprint(run.Scenario.Seed)},
			{"clock", printable(run.Scenario.Clock)},
			{"file", printable(run.Scenario.File)},
			{"cluster.seconds", seconds(run.Cluster.Seconds())},
		},
	}
	if len(run.NotReproducible) > 0 {
		s.Properties = append(s.Properties, property{"notReproducible", printable(strings.Join(run.NotReproducible, "; "))})
	}
	reported := false
	for i := range run.Spans {
		span := &run.Spans[i]
		if span.Parent >= 0 {
			continue
		}
		c := testCase{Name: printable(fmt.Sprintf("%d. %s", len(s.Cases)+1, span.Title)), ClassName: "minikcm." + s.Name, Time: seconds(span.Real.Seconds())}
		switch text, failed := failureOf(run, i); {
		case failed && run.ExpectedFailure != "":
			reported = true
			c.Skipped = &skipped{Message: printable("failed as expected: " + firstLine(text))}
			s.Skipped++
		case failed:
			reported = true
			c.Failure = &problem{Message: printable(firstLine(text) + reasonOf(run, i)), Type: string(run.Verdict), Text: printable(text)}
			s.Failures++
		case span.Failure != "":
			c.Skipped = &skipped{Message: printable("ended by: " + firstLine(span.Failure))}
			s.Skipped++
		}
		s.Cases = append(s.Cases, c)
	}
	for _, title := range run.NotReached {
		s.Cases = append(s.Cases, testCase{
			Name: printable(fmt.Sprintf("%d. %s", len(s.Cases)+1, title)), ClassName: "minikcm." + s.Name, Time: seconds(0),
			Skipped: &skipped{Message: "not reached"},
		})
		s.Skipped++
	}
	for _, f := range run.Failures {
		if f.Span < 0 && f.Check != "" { // a check of the end of the run
			reported = true
			s.Cases = append(s.Cases, testCase{
				Name: printable(f.Check), ClassName: "minikcm." + s.Name, Time: s.Time,
				Failure: &problem{Message: printable(firstLine(f.Message)), Type: string(run.Verdict), Text: printable(f.Message)},
			})
			s.Failures++
		}
	}
	if run.Verdict != runrecord.Passed && !reported {
		c := testCase{Name: "the whole run", ClassName: "minikcm." + s.Name, Time: s.Time}
		c.Error = &problem{Message: printable(firstLine(run.Message)), Type: string(run.Verdict), Text: printable(run.Message)}
		s.Errors++
		s.Cases = append(s.Cases, c)
	}
	s.Tests = len(s.Cases)
	var out strings.Builder
	_ = Text(&out, run) // a strings.Builder takes everything
	s.Out = printable(out.String())
	return s
}

// failureOf returns why a span or a part of it failed, with differences and causes. A span
// that was ended by a failure elsewhere has not failed itself, if that is recorded.
func failureOf(run *runrecord.Run, i int) (text string, failed bool) {
	var b strings.Builder
	b.WriteString(run.Spans[i].Failure)
	failed = run.Spans[i].Failure != "" && len(run.Failures) == 0
	for _, f := range run.Failures {
		if top(run, f.Span) != i {
			continue
		}
		failed = true
		if !strings.Contains(b.String(), f.Message) {
			b.WriteString("\n" + f.Message)
		}
		for _, line := range f.Diff {
			if !strings.Contains(b.String(), line) {
				b.WriteString("\n" + line)
			}
		}
		for _, cause := range f.Causes {
			b.WriteString("\n\nWhy: " + strings.TrimSpace(cause))
		}
	}
	return strings.TrimSpace(b.String()), failed
}

// reasonOf is the first reason of a span's failure, to follow its first line: CI shows that
// line only.
func reasonOf(run *runrecord.Run, i int) string {
	for f := range run.Failures {
		if failure := &run.Failures[f]; top(run, failure.Span) == i && len(failure.Reasons) > 0 {
			return "; " + failure.Reasons[0].String()
		}
	}
	return ""
}

// top is the outermost span that i is a part of.
func top(run *runrecord.Run, i int) int {
	for i >= 0 && run.Spans[i].Parent >= 0 {
		i = run.Spans[i].Parent
	}
	return i
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

func seconds(s float64) string { return fmt.Sprintf("%.3f", s) }

// printable leaves out what XML 1.0 cannot hold.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r < ' ' || r == unicode.ReplacementChar || r >= 0xFFFE && r <= 0xFFFF:
			return -1
		}
		return r
	}, text)
}
