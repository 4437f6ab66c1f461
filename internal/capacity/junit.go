package capacity

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// The elements of JUnit XML, as CI systems read it.
type (
	junitSuites struct {
		XMLName xml.Name   `xml:"testsuites"`
		Suite   junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		Time    string        `xml:"time,attr"`
		Failure *junitProblem `xml:"failure,omitempty"`
		Error   *junitProblem `xml:"error,omitempty"`
	}
	junitProblem struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// writeJUnit writes an answer as JUnit XML: a suite with one test, which fails if something does not fit, and has
// an error if that is uncertain. Its time is the fork's.
func writeJUnit(w io.Writer, question string, verdict Verdict, headline, details string, took float64) error {
	test := junitCase{Name: question, Class: "minikcm.whatif", Time: fmt.Sprintf("%.3f", took)}
	suite := junitSuite{Name: "minikcm whatif", Tests: 1}
	switch problem := (&junitProblem{headline, legal(details)}); verdict {
	case DoesNotFit:
		test.Failure, suite.Failures = problem, 1
	case Uncertain:
		test.Error, suite.Errors = problem, 1
	}
	suite.Cases = []junitCase{test}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return fmt.Errorf("writing JUnit XML: %w", err)
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", "  ")
	if err := encoder.Encode(junitSuites{Suite: suite}); err != nil {
		return fmt.Errorf("writing JUnit XML: %w", err)
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// legal removes the characters that XML does not have.
func legal(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, text)
}

// Question returns the question in one line.
func (r *Report) Question() string {
	texts := make([]string, len(r.Changes))
	for i := range r.Changes {
		texts[i] = r.Changes[i].String()
	}
	return "What if: " + strings.Join(texts, ", ")
}

// JUnit writes the answer as JUnit XML.
func (r *Report) JUnit(w io.Writer) error {
	var details strings.Builder
	if err := r.Print(&details); err != nil {
		return err
	}
	return writeJUnit(w, r.Question(), r.Verdict, r.verdict(), details.String(), r.Took)
}

// Question returns the question in one line.
func (f *Fit) Question() string {
	if f.Wanted > 0 {
		return fmt.Sprintf("fit %s with %d replicas", &f.Target, f.Wanted)
	}
	return "fit " + f.Target.String()
}

// JUnit writes the answer as JUnit XML.
func (f *Fit) JUnit(w io.Writer) error {
	var details strings.Builder
	if err := f.Print(&details); err != nil {
		return err
	}
	headline, _, _ := strings.Cut(details.String(), "\n")
	return writeJUnit(w, f.Question(), f.Verdict, headline, details.String(), 0)
}
