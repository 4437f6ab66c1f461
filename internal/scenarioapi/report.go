package scenarioapi

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/openrequests"
	"minikcm.dev/minikcm/internal/scenario/report"
	"minikcm.dev/minikcm/internal/scenario/runrecord"
	"minikcm.dev/minikcm/scenarios"
)

const (
	// reportName is the path of a run's report as a page, beneath its own.
	reportName = "report"

	// maxChecks and maxFailures cap the checks and failures of a report, maxDiffers the lines of a
	// failure.
	maxChecks   = 200
	maxFailures = 20
	maxDiffers  = 50
	// maxPage caps a report as a page, in bytes. It is kept compressed, to about a tenth.
	maxPage = 8 << 20
)

var errPageTooLarge = errors.New("the report is too large to be kept")

// reportOf sums up a run that is over.
func reportOf(run *runrecord.Run) *Report {
	r := &Report{ClusterSeconds: run.Cluster.Seconds(), RealSeconds: run.Real.Seconds(), Checks: []Check{}}
	for i := range run.Spans {
		span := &run.Spans[i]
		if span.Kind != runrecord.Check {
			continue
		}
		check := checkOf(run, span)
		switch check.State {
		case Passed:
			r.Passed++
		case Failed:
			r.Failed++
		}
		if len(r.Checks) < maxChecks {
			r.Checks = append(r.Checks, check)
		}
	}
	for i := range run.Failures {
		if len(r.Failures) < maxFailures && !hasInner(run, i) {
			r.Failures = append(r.Failures, failureOf(run, &run.Failures[i]))
		}
	}
	if len(run.Failures) == 0 && run.Message != "" {
		r.Failures = []Failure{{Time: run.Start.Add(run.Cluster).UTC(), Found: short(run.Message)}}
	}
	return r
}

func checkOf(run *runrecord.Run, span *runrecord.Span) Check {
	c := Check{Title: short(span.Title), State: Stopped, Since: run.Start.Add(span.Begin).UTC()}
	if span.End < 0 {
		return c
	}
	until := run.Start.Add(span.End).UTC()
	c.Until, c.State = &until, Passed
	if span.Failure != "" {
		c.State = Failed
	}
	return c
}

// hasInner reports whether failure i is a step's and another failure belongs to a part of this
// step.
func hasInner(run *runrecord.Run, i int) bool {
	return slices.ContainsFunc(run.Failures, func(other runrecord.Failure) bool {
		for at := other.Span; at >= 0; at = run.Spans[at].Parent {
			if run.Spans[at].Parent == run.Failures[i].Span && run.Failures[i].Span >= 0 {
				return true
			}
		}
		return false
	})
}

// failureOf returns a failure, whose differences are in one place only.
func failureOf(run *runrecord.Run, f *runrecord.Failure) Failure {
	failure := Failure{Time: run.Start.Add(f.At).UTC(), Expected: short(f.Check)}
	differs := map[string]bool{}
	for _, line := range f.Diff {
		for part := range strings.SplitSeq(line, "\n") {
			differs[strings.TrimSpace(part)] = true
		}
		if len(failure.Differs) < maxDiffers {
			failure.Differs = append(failure.Differs, short(line))
		}
	}
	failure.ForgottenDiffers = len(f.Diff) - len(failure.Differs)
	var found []string
	for line := range strings.SplitSeq(f.Message, "\n") {
		if !differs[strings.TrimSpace(line)] {
			found = append(found, line)
		}
	}
	failure.Found = short(strings.Join(found, "\n"))
	for _, cause := range f.Causes {
		failure.Causes = append(failure.Causes, short(cause))
	}
	return failure
}

// pageOf returns the report of a run as a page, compressed.
func pageOf(run *runrecord.Run) ([]byte, error) {
	var page bytes.Buffer
	compressed := gzip.NewWriter(&page)
	if err := report.HTML(&limitedWriter{to: compressed, left: maxPage}, []*runrecord.Run{run}); err != nil {
		return nil, err
	}
	if err := compressed.Close(); err != nil {
		return nil, fmt.Errorf("compressing the report of %s: %w", run.Scenario.Name, err)
	}
	return page.Bytes(), nil
}

// limitedWriter fails when more than left bytes are written.
type limitedWriter struct {
	to   io.Writer
	left int
}

func (l *limitedWriter) Write(data []byte) (int, error) {
	if len(data) > l.left {
		return 0, errPageTooLarge
	}
	l.left -= len(data)
	return l.to.Write(data)
}

// recordOf returns the record of a run that is over. A run which could not begin, or was stopped before, has a
// record without steps.
func recordOf(r *running, scenario *scenarios.Scenario, asked *request, result *scenarios.Result, err error) *runrecord.Run {
	run := runrecord.Run{}
	if err == nil {
		run = *result.Run
		run.Cluster = min(run.Cluster, result.Cluster) // the clock has not waited for the end of the record
	} else {
		shown := r.look(true)
		run.Scenario = runrecord.Scenario{Name: shown.Scenario, Description: shown.Description, File: scenario.File, Seed: shown.Seed, Set: asked.Set}
		run.Start, run.Verdict, run.Message = shown.Since, runrecord.Failed, short(err.Error())
		if errors.Is(err, errStopped) || errors.Is(err, errClosing) {
			run.Verdict = runrecord.Interrupted
		}
	}
	if asked.Name == "" {
		run.Scenario.File = run.Scenario.Name + ".yaml" // as the user may have called it
	}
	return &run
}

// report keeps the report of a run that is over. It is there before the run is shown to be over.
func (r *running) report(run *runrecord.Run) {
	summary := reportOf(run)
	page, err := pageOf(run)
	summary.Page = err == nil
	r.change(func(shown *Run, _ time.Time) {
		shown.Report, r.page = summary, page
		if err != nil {
			shown.Notes = append(shown.Notes, short("there is no report as a page: "+err.Error()))
		}
	})
}

// serveReport responds with the report of a run as a page, to be saved as a file.
func (s *service) serveReport(w http.ResponseWriter, id string) error {
	found := s.find(id)
	if found == nil {
		return apierrors.NewNotFound(resource, id)
	}
	if !found.look(true).State.Done() {
		return apierrors.NewConflict(resource, id, errors.New("the run is not over: its report is there at its end"))
	}
	scenario, page := found.keptPage()
	if page == nil {
		return apierrors.NewNotFound(resource, id+"/"+reportName)
	}
	compressed, err := gzip.NewReader(bytes.NewReader(page))
	if err != nil {
		return fmt.Errorf("reading the report of %s: %w", id, err)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", scenario+"-"+id+".html"))
	// A client in the process has no deadlines.
	_ = http.NewResponseController(w).SetWriteDeadline(clock.Real().Now().Add(openrequests.ClientTimeout))
	_, _ = io.Copy(w, compressed) // fails only if the client is gone
	return nil
}
