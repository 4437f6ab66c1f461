package ui

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

const ownScenario = `apiVersion: minikcm.dev/v1alpha1
kind: Scenario
metadata: {name: mine}
spec:
  description: A node stays away
  timeout: 10h
  cluster: {nodes: 3}
  invariants:
    - {name: some node is there, always: {counts: [{target: nodes, min: 1}]}}
  steps:
    - name: node-1 is cordoned
      fault: {nodes: {action: cordon, names: [node-1]}, for: 2h}
      background: true
    - name: a fourth node comes
      expect: {within: 1h, counts: [{target: nodes, equals: 4}]}
  finally:
    - sleep: 1s
`

// Scenarios run in the page: a shipped one passes, the user's own one shows what it waits for and
// why it fails, and one is stopped.
func TestScenarios(t *testing.T) {
	c := start(t, "--nodes", "3", "--clock", "virtual=20", "--seed", "1")
	p := c.open(1280, 800)
	p.do(chromedp.KeyEvent("7"))
	p.shows(".scenarios .list", "pod-kill-storm")
	p.do(chromedp.Click(`//li/button[contains(., "cron-dst")]`, chromedp.BySearch))
	p.shows(".scenarios .bad", "its time begins at 2026-03-28T23:00:00Z, which only a cluster of its own can do")
	p.until(`[...document.querySelectorAll(".scenarios section button")].find(b => b.textContent === "Run").disabled`)
	p.save("scenarios-refused")

	p.do(chromedp.Click(`//li/button[contains(., "node-loss")]`, chromedp.BySearch))
	p.shows(".scenarios section", "the pods are replaced on other nodes")
	p.press("Run")
	p.shows(".steps li.Done", "apply")
	p.shows(".steps li.Active .waits", "")
	p.save("scenarios-running")
	c.run("", "clock", "speed", "1000")
	p.shows(".scenarios h2", "Passed")
	p.shows(".scenarios section", "5 of 5 steps")
	p.shows(".steps .notes", "node/node-0")
	p.shows(".report", "passed. It took")
	p.shows(".report", "of real time")
	p.shows(`ul[aria-label="Checks"] li.Done`, "passed after")
	p.save("scenarios-passed")
	p.openReport("node-loss")

	// The user's own, from a file.
	file := filepath.Join(t.TempDir(), "mine.yaml")
	if err := os.WriteFile(file, []byte(strings.Replace(ownScenario, "sleep: 1s", "script: {run: 'true'}", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	p.press("Your own…")
	p.do(chromedp.WaitVisible(`input[type=file]`), chromedp.SetUploadFiles(`input[type=file]`, []string{file}))
	p.until(`document.querySelector("textarea").value.includes("name: mine")`)
	p.press("Run")
	p.shows(".own [role=alert]", "programs cannot be run on the cluster's machine")
	p.save("scenarios-own")
	c.run("", "clock", "pause")
	p.do(chromedp.Focus("textarea"), chromedp.Evaluate(`document.querySelector("textarea").select()`, nil), chromedp.KeyEvent(kb.Delete))
	if err := os.WriteFile(file, []byte(ownScenario), 0o600); err != nil {
		t.Fatal(err)
	}
	p.do(chromedp.Evaluate(`document.querySelector("input[type=file]").value = ""`, nil), chromedp.SetUploadFiles(`input[type=file]`, []string{file}))
	p.until(`document.querySelector("textarea").value.includes("sleep: 1s")`)
	p.press("Run")
	p.shows(".steps li.Background", "node-1 is cordoned")
	p.shows(".steps li.Active .waits", "nodes")
	p.shows(".scenarios section", "Time stands still: press Resume or Step.")
	p.shows(`ul[aria-label="Invariants"]`, "some node is there holds")
	p.do(chromedp.KeyEvent("5"))
	p.shows("tbody tr", "cordon nodes node-1")
	p.shows("tbody tr", "Active")
	p.do(chromedp.KeyEvent("7"))
	p.shows(".steps li.Active", "a fourth node comes")
	p.save("scenarios-waits")
	p.press("+1 h")
	p.shows(".steps li.Failed pre", "not within 1h0m0s")
	p.press("Resume") // the last step takes a second
	p.shows(".scenarios h2", "Failed")
	p.shows(".report", "1 check failed, 1 passed.")
	p.shows(`ul[aria-label="Checks"] li.Failed`, "a fourth node comes")
	p.shows(".failure", "expected 4 nodes, found 3")
	p.do(chromedp.Evaluate(`document.querySelector(".report").parentElement.parentElement.scrollTo(0, 0)`, nil))
	for _, dark := range []bool{false, true} {
		p.do(scheme(dark))
		p.save(fmt.Sprintf("scenarios-failed-dark-%t", dark))
	}
	p.do(scheme(false))
	p.downloadReport("mine-run-2.html")

	// Another one is stopped.
	p.do(chromedp.Click(`//li/button[contains(., "crashloop")]`, chromedp.BySearch))
	p.until(`[...document.querySelectorAll(".scenarios section button")].find(b => b.textContent === "Run")?.disabled === false`)
	p.press("Run")
	p.shows(".scenarios h2", "Running")
	p.press("Stop")
	p.shows(".scenarios h2", "Stopped")
	if n := p.value(`document.querySelectorAll('ul[aria-label="Runs"] li').length`); n != 3 {
		t.Errorf("%v runs are listed", n)
	}
}

// openReport opens the report of the run that is shown, and looks at it: its style is allowed, though
// the tab has the policy of the page.
func (p *page) openReport(scenario string) {
	p.t.Helper()
	opened := chromedp.WaitNewTarget(p.ctx, func(info *target.Info) bool { return strings.HasPrefix(info.URL, "blob:") })
	p.press("Open the full report")
	var id target.ID
	select {
	case id = <-opened:
	case <-time.After(timeout):
		p.t.Fatal("no tab is opened")
	}
	ctx, cancel := chromedp.NewContext(p.ctx, chromedp.WithTargetID(id))
	defer cancel()
	q := &page{t: p.t, ctx: ctx}
	q.until(`document.querySelector(".facts") !== null && document.title === "PASS ` + scenario + `"`)
	q.until(`getComputedStyle(document.querySelector(".facts")).display === "flex"`)
	q.do(chromedp.EmulateViewport(1280, 800))
	q.save("scenarios-report")
}

// downloadReport saves the report of the run that is shown.
func (p *page) downloadReport(name string) {
	p.t.Helper()
	dir := p.t.TempDir()
	done := make(chan struct{})
	chromedp.ListenTarget(p.ctx, func(event any) {
		if e, ok := event.(*browser.EventDownloadProgress); ok && e.State == browser.DownloadProgressStateCompleted {
			close(done)
		}
	})
	p.do(chromedp.ActionFunc(func(ctx context.Context) error {
		return browser.SetDownloadBehavior(browser.SetDownloadBehaviorBehaviorAllow).WithDownloadPath(dir).WithEventsEnabled(true).Do(ctx)
	}))
	p.press("Download it")
	select {
	case <-done:
	case <-time.After(timeout):
		p.t.Fatal("nothing is downloaded")
	}
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil || !strings.Contains(string(data), "expected 4 nodes, found 3") {
		p.t.Errorf("the file has %d bytes: %v", len(data), err)
	}
}
