package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// reportFile is the name of Ginkgo's JSON report.
const reportFile = "report.json"

// A result is the result of one test.
type result struct {
	name    string
	passed  bool
	skipped bool
	reason  string // of a failure or of a test that skips itself, one line
}

// The fields of Ginkgo's report (types.Report) that are used here.
type suiteReport struct {
	SpecReports []specReport
}

type specReport struct {
	ContainerHierarchyTexts []string
	LeafNodeType            string
	LeafNodeText            string
	State                   string
	Failure                 struct{ Message string }
}

// readReport returns the results of all tests of the suite, also of those that did not run.
func readReport(path string) ([]result, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the suite left no report: %w", err)
	}
	var suites []suiteReport
	if err := json.Unmarshal(data, &suites); err != nil {
		return nil, fmt.Errorf("reading the report %s: %w", path, err)
	}
	var results []result
	for _, suite := range suites {
		for _, spec := range suite.SpecReports {
			if spec.LeafNodeType != "It" {
				continue
			}
			results = append(results, result{
				name:    spec.name(),
				passed:  spec.State == "passed",
				skipped: spec.State == "skipped" || spec.State == "pending",
				reason:  firstLine(spec.Failure.Message),
			})
		}
	}
	return results, nil
}

// name returns the test's full name as the suite prints it.
func (s specReport) name() string {
	return strings.Join(append(s.ContainerHierarchyTexts, s.LeafNodeText), " ")
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}
