package minikcmapi

import (
	"io"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/internal/scenarioapi"
)

// reportPage returns the report of a run as a page.
func (b *bench) reportPage(id string) (*http.Response, string) {
	b.t.Helper()
	res := b.send(b.Config(), http.MethodGet, scenarioapi.Path+"/runs/"+id+"/report", "")
	defer res.Body.Close() // it is only read
	data, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return res, string(data)
}

// The report of a run says which checks passed, and of those that failed what was expected, what
// was there, and why.
func TestScenarioReport(t *testing.T) {
	t.Parallel()
	b := newBench(t, 1)
	run := b.begin(document(header + `
  invariants:
    - {name: the node stays, always: {objects: [{apiVersion: v1, kind: Node, metadata: {name: node-0}}]}}
  steps:
    - apply:
        objects:
          - apiVersion: apps/v1
            kind: Deployment
            metadata: {name: web, namespace: default}
            spec: {replicas: 2, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: nginx}]}}}
    - wait: {target: deployment/web, for: rollout, within: 10m}
    - sleep: 90s
    - parallel:
        - name: three replicas
          expect:
            within: 1h
            objects: [{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 3}, status: {readyReplicas: 3}}]
  finally:
    - sleep: 1s
`))
	var status metav1.Status
	if code := b.ask(http.MethodGet, "/runs/"+run.ID+"/report", "", &status); code != http.StatusConflict && code != http.StatusOK {
		t.Errorf("the report of a run that goes on is answered with %d", code)
	}
	run = b.follow(run.ID, nil)
	report := run.Report
	if run.State != scenarioapi.Failed || report == nil {
		t.Fatalf("the run is %+v", run)
	}
	if report.ClusterSeconds < 3691 || report.ClusterSeconds > run.Until.Sub(run.Since).Seconds() || report.RealSeconds <= 0 || report.RealSeconds > 600 || report.Passed != 2 || report.Failed != 1 || !report.Page {
		t.Errorf("the report is %+v", report)
	}
	if len(report.Checks) != 3 { // the invariant is watched until the last steps, and not again in them
		t.Errorf("the checks are %+v", report.Checks)
	}
	states := map[string]scenarioapi.State{}
	for _, c := range report.Checks {
		states[c.Title] = c.State
		if c.Until == nil || c.Until.Before(c.Since) || c.Since.Before(run.Since) {
			t.Errorf("the check is %+v", c)
		}
	}
	if states["invariant the node stays"] != scenarioapi.Passed || states["wait for rollout of deployment/web"] != scenarioapi.Passed || states["three replicas"] != scenarioapi.Failed {
		t.Errorf("the checks are %v", states)
	}
	if len(report.Failures) != 1 { // the failure of the step parallel is left out
		t.Fatalf("the failures are %+v", report.Failures)
	}
	failure := report.Failures[0]
	if failure.Expected != "three replicas" || !strings.HasPrefix(failure.Found, "not within 1h0m0s: ") || failure.Time.Before(run.Since) || failure.ForgottenDiffers != 0 {
		t.Errorf("the failure is %+v", failure)
	}
	differs := strings.Join(failure.Differs, "\n")
	if !strings.Contains(differs, "spec.replicas: expected 3, found 2") || strings.Contains(failure.Found, "spec.replicas") {
		t.Errorf("it differs in %q, and what is found is %q", differs, failure.Found)
	}
	if len(failure.Causes) == 0 || !strings.Contains(failure.Causes[0], "deployment/web") {
		t.Errorf("the causes are %q", failure.Causes)
	}
	var runs []scenarioapi.Run
	if b.ask(http.MethodGet, "/runs", "", &runs); len(runs) != 1 || runs[0].Report != nil {
		t.Errorf("the list is %+v", runs)
	}
	res, page := b.reportPage(run.ID)
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/html; charset=utf-8" || res.Header.Get("Content-Disposition") != `attachment; filename="own-run-1.html"` {
		t.Errorf("the page has %s and the headers %v", res.Status, res.Header)
	}
	for _, part := range []string{"<!DOCTYPE html>", "three replicas", "spec.replicas: expected 3, found 2", "minikcm scenario run own.yaml --seed 1", "</html>"} {
		if !strings.Contains(page, part) {
			t.Errorf("the page is without %q", part)
		}
	}
}

// A run that passes has a report, too; what has none is refused.
func TestScenarioReports(t *testing.T) {
	t.Parallel()
	b := newBench(t, 3)
	run := b.follow(b.begin(`{"name": "rolling-update-under-fire"}`).ID, nil)
	if report := run.Report; report == nil || run.State != scenarioapi.Passed || report.Failed != 0 || report.Passed == 0 || len(report.Failures) != 0 {
		t.Errorf("the run is %+v", run)
	}
	if res, page := b.reportPage(run.ID); res.StatusCode != http.StatusOK || !strings.Contains(page, "rolling-update-under-fire") {
		t.Errorf("the page has %s and %d bytes", res.Status, len(page))
	} else {
		t.Logf("the page has %d bytes", len(page))
	}
	run = b.begin(document(header + "  steps: [{sleep: 9000h}]\n"))
	b.Pacer().Pause()
	for _, r := range []struct {
		method, path string
		code         int
		reason       metav1.StatusReason
	}{
		{http.MethodGet, "/runs/" + run.ID + "/report", 409, metav1.StatusReasonConflict},
		{http.MethodGet, "/runs/run-9/report", 404, metav1.StatusReasonNotFound},
		{http.MethodGet, "/runs/" + run.ID + "/page", 404, metav1.StatusReasonNotFound},
		{http.MethodGet, "/pod-kill/report", 404, metav1.StatusReasonNotFound},
		{http.MethodDelete, "/runs/run-1/report", 405, metav1.StatusReasonMethodNotAllowed},
		{http.MethodGet, "/runs/run-1/report?format=pdf", 400, metav1.StatusReasonBadRequest},
		{http.MethodGet, "/runs?limit=1", 400, metav1.StatusReasonBadRequest},
		{http.MethodGet, "?name=pod-kill", 400, metav1.StatusReasonBadRequest},
	} {
		var status metav1.Status
		if code := b.ask(r.method, r.path, "", &status); code != r.code || int(status.Code) != r.code || status.Reason != r.reason {
			t.Errorf("%s %s is answered with %d %s: %s", r.method, r.path, code, status.Reason, status.Message)
		}
	}
	if code := b.ask(http.MethodDelete, "/runs/"+run.ID, "", run); code != http.StatusOK || run.Report == nil || len(run.Report.Failures) != 1 {
		t.Errorf("the run that is stopped is answered with %d: %+v", code, run)
	}
}
