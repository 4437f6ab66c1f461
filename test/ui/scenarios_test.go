package ui

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

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
	p.save("scenarios-passed")

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
	p.save("scenarios-failed")

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
