package ui

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// Faults are injected by menus, listed and stopped, and what was done is saved as a scenario
// that repeats it.
func TestFaults(t *testing.T) {
	c := start(t, "--nodes", "4", "--clock", "virtual", "--seed", "1")
	c.deploy("web", 12)
	p := c.open(1280, 720)
	p.until(ready + ` === 12`)
	p.press("Pause")
	p.shows("header button", "Resume")
	p.do(chromedp.Click(`nav a[href="#faults"]`))
	p.press("Record")
	p.shows(".faults", "Recording since")

	// A node is crashed in the Cluster view.
	p.do(chromedp.KeyEvent("1"))
	p.until(`document.querySelector("canvas")?.dataset.drawn !== undefined`)
	p.do(chromedp.Focus("canvas"), chromedp.KeyEvent(kb.ArrowRight))
	p.shows("aside", "node-0")
	p.do(chromedp.KeyEvent(kb.ArrowRight))
	p.shows("aside", "node-1")
	p.choose(`form[aria-label="Break the node"] select[aria-label="Duration"]`, "5m")
	p.do(chromedp.Click(`form[aria-label="Break the node"] button`))
	p.shows("header", "rec 1")
	// The API server still believes that it is ready.
	p.shows("aside", "down; the API server does not know yet")
	p.shows(`aside ul[aria-label="Faults here"]`, "crash nodes node-1")
	p.shows("nav .count", "1")
	p.save("faults-truth")
	p.do(chromedp.KeyEvent("3"))
	p.until(`document.querySelector(".timeline canvas")?.getAttribute("aria-label").includes("faults: f-1 crash nodes node-1")`)
	p.save("faults-timeline")
	p.do(chromedp.KeyEvent("1"))
	p.until(`document.querySelector("canvas")?.dataset.drawn !== undefined`)
	p.do(chromedp.Focus("canvas"), chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.ArrowRight))
	p.shows("aside", "node-1")
	p.press("+1 min")
	p.shows("aside", "Not ready")
	p.shows("aside", "down; the API server knows that it is not ready")
	p.save("faults-node")
	// A pod of another node is killed.
	p.do(chromedp.Focus("canvas"), chromedp.KeyEvent(kb.ArrowLeft))
	p.shows("aside", "node-0")
	p.do(chromedp.KeyEvent(kb.Enter))
	p.shows("aside", "ReplicaSet/web")
	var killed string
	p.do(chromedp.Text("aside h2", &killed), chromedp.Click(`form[aria-label="Break the pod"] button`))
	p.shows("header", "rec 3")
	p.until(fmt.Sprintf(`!document.querySelector("aside").innerText.includes(%q)`, killed))

	// The API server fails, and a fault without an end is stopped.
	p.do(chromedp.KeyEvent("5"))
	p.choose(`form[aria-label="Break the API server"] select[aria-label="Duration"]`, "")
	p.do(chromedp.Click(`form[aria-label="Break the API server"] button`))
	p.shows("tbody tr", "answer 503")
	p.shows("tbody tr", "Active")
	p.press("+1 min")
	p.shows(`ol[aria-label="Recorded steps"]`, "time jumps by 1 min")
	p.save("faults")
	p.do(chromedp.Click(`//tr[contains(., "answer 503")]//button`, chromedp.BySearch))
	p.shows("tbody tr", "Stopped")

	dir := t.TempDir()
	p.do(browser.SetDownloadBehavior(browser.SetDownloadBehaviorBehaviorAllow).WithDownloadPath(dir).WithEventsEnabled(true))
	done := make(chan struct{})
	chromedp.ListenTarget(p.ctx, func(event any) {
		if e, ok := event.(*browser.EventDownloadProgress); ok && e.State == browser.DownloadProgressStateCompleted {
			close(done)
		}
	})
	p.press("Save as scenario")
	select {
	case <-done:
	case <-t.Context().Done():
		t.Fatal("nothing is downloaded")
	}
	file := filepath.Join(dir, "recorded.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	steps := regexp.MustCompile(`(?m)^ {10}- \{"kind.*\n|^ {10}- \{"meta.*\n`).ReplaceAllString(string(text), "")
	t.Logf("the scenario, without its objects:\n%s", steps)
	c.run("", "scenario", "validate", file)
	report := c.run("", "scenario", "run", file)
	for _, wanted := range []string{"node/node-1 crashed", "pod/" + killed, "advance 1m0s", "PASS recorded"} {
		if !strings.Contains(report, wanted) {
			t.Errorf("the scenario does not repeat %q:\n%s", wanted, report)
		}
	}
}

// choose selects an option as a user does.
func (p *page) choose(selector, value string) {
	p.t.Helper()
	p.until(fmt.Sprintf(`document.querySelector(%q) !== null`, selector))
	p.do(chromedp.Evaluate(fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.value = %q; e.dispatchEvent(new Event("change", {bubbles: true})); })()`, selector, value), nil))
}
