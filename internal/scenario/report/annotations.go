package report

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"minikcm.dev/minikcm/internal/scenario/runrecord"
)

// finding is a failure with its place in the scenario's file.
type finding struct {
	scenario, check string
	file            string
	line            int
	message         string
}

// findings are the failures of a run that did not pass.
func findings(run *runrecord.Run) []finding {
	if run.Verdict != runrecord.Failed {
		return nil
	}
	file := strings.TrimPrefix(filepath.ToSlash(run.Scenario.File), "./")
	var all []finding
	for i := range run.Failures {
		f := &run.Failures[i]
		found := finding{scenario: run.Scenario.Name, check: f.Check, file: file, line: 1, message: f.Message}
		for at := f.Span; at >= 0 && at < len(run.Spans); at = run.Spans[at].Parent {
			if run.Spans[at].Line > 0 {
				found.line = run.Spans[at].Line
				break
			}
		}
		for _, line := range f.Diff {
			if !strings.Contains(found.message, line) {
				found.message += "\n" + line
			}
		}
		all = append(all, found)
	}
	if len(all) == 0 {
		all = append(all, finding{scenario: run.Scenario.Name, file: file, line: 1, message: run.Message})
	}
	return all
}

func (f *finding) title() string {
	if f.check == "" {
		return f.scenario
	}
	return f.scenario + ": " + f.check
}

// uri returns the file as a URI reference.
func (f *finding) uri() string {
	u := url.URL{Path: f.file}
	if strings.HasPrefix(f.file, "/") {
		u.Scheme = "file"
	}
	return u.String()
}

// GitHub writes the failures as workflow commands of GitHub Actions, which show them beside the lines
// of the scenarios' files
// (https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands). The error is w's.
func GitHub(w io.Writer, runs []*runrecord.Run) error {
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	for _, run := range runs {
		for _, f := range findings(run) {
			if _, err := fmt.Fprintf(w, "::error file=%s,line=%d,title=%s::%s\n", property.Replace(f.file), f.line, property.Replace(f.title()), data.Replace(f.message)); err != nil {
				return err
			}
		}
	}
	return nil
}

// The parts of SARIF 2.1.0 (OASIS Standard) that are written.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool    sarifTool     `json:"tool"`
		Results []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name  string      `json:"name"`
		Rules []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID               string    `json:"id"`
		ShortDescription sarifText `json:"shortDescription"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID       string            `json:"ruleId"`
		Level        string            `json:"level"`
		Message      sarifText         `json:"message"`
		Locations    []sarifLocation   `json:"locations"`
		Fingerprints map[string]string `json:"partialFingerprints"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   sarifRegion   `json:"region"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
	}
)

// SARIF writes the failures in the Static Analysis Results Interchange Format, which code hosts show
// beside the lines of the scenarios' files. A rule is a scenario. The error is w's.
func SARIF(w io.Writer, runs []*runrecord.Run) error {
	out := sarifRun{Results: []sarifResult{}}
	out.Tool.Driver = sarifDriver{Name: "minikcm", Rules: []sarifRule{}}
	known := map[string]bool{}
	for _, run := range runs {
		if name := run.Scenario.Name; !known[name] {
			known[name] = true
			text := run.Scenario.Description
			if text == "" {
				text = name
			}
			out.Tool.Driver.Rules = append(out.Tool.Driver.Rules, sarifRule{name, sarifText{text}})
		}
		for _, f := range findings(run) {
			out.Results = append(out.Results, sarifResult{
				RuleID: f.scenario, Level: "error", Message: sarifText{f.title() + ": " + f.message},
				Locations:    []sarifLocation{{sarifPhysical{sarifArtifact{f.uri()}, sarifRegion{f.line}}}},
				Fingerprints: map[string]string{"minikcm/v1": f.title()},
			})
		}
	}
	data, err := json.MarshalIndent(sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{out}}, "", "  ")
	if err != nil {
		return fmt.Errorf("writing SARIF: %w", err)
	}
	_, err = w.Write(append(data, '\n'))
	return err
}
