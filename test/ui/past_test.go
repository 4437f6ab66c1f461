package ui

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// The slider shows the cluster as it was, which cannot be changed, and ends where the history
// does.
func TestPast(t *testing.T) {
	c := start(t, "--nodes", "4", "--clock", "virtual", "--seed", "1")
	c.deploy("web", 8)
	p := c.open(1280, 720)
	p.until(ready + ` === 8`)
	c.run("", "kubectl", "scale", "deploy/web", "--replicas=20")
	p.until(ready + ` === 20`)
	c.run("", "fault", "apiserver", "compact")
	c.run("", "kubectl", "scale", "deploy/web", "--replicas=8")
	p.until(ready + ` === 8`)
	c.run("", "kubectl", "scale", "deploy/web", "--replicas=20")
	p.until(ready + ` === 20`)
	p.press("Look back")
	p.shows("[role=status]", "the past")
	p.until(ready + ` === 20`)
	if refused := p.refusals(); len(refused) > 0 { // the page asks where the history begins
		t.Errorf("looking back, the browser's console shows %q", refused)
	}

	// Each key is a write: back to where the Deployment had 8 pods.
	p.do(chromedp.Focus(`input[type=range]`))
	back := func(until string) {
		t.Helper()
		for range 400 {
			var reached bool
			var before string
			p.do(chromedp.Evaluate(`location.hash`, &before), chromedp.KeyEvent(kb.ArrowLeft))
			p.until(fmt.Sprintf(`location.hash !== %q && document.querySelector("[role=status]").title === "revision " + /at=(\d+)/.exec(location.hash)[1]`, before))
			if p.do(chromedp.Evaluate(until, &reached)); reached {
				return
			}
		}
		t.Fatalf("going back does not lead to %s", until)
	}
	back(ready + ` === 8`)
	p.shows("aside", "Deployment/web")
	p.do(chromedp.Focus("canvas"), chromedp.KeyEvent(kb.ArrowRight))
	p.shows("aside", "node-0")
	p.do(chromedp.KeyEvent(kb.Enter))
	p.shows("aside", "ReplicaSet/web")
	if n := p.value(`[...document.querySelectorAll("aside button")].filter(b => b.textContent !== "Why?").length`); n != 0 {
		t.Errorf("the past can be changed by %v buttons", n)
	}
	p.save("past")
	at := p.value(`Number(/at=(\d+)/.exec(location.hash)[1])`)

	// A revision is forgotten when the store is compacted.
	c.run("", "fault", "apiserver", "compact")
	p.do(chromedp.Evaluate(fmt.Sprintf(`location.hash = "cluster?at=%v"`, at-1), nil))
	p.shows(".scrubber [role=alert]", "is forgotten: the history begins at revision")
	p.press("Now")
	p.shows("[role=status]", "live")
	p.until(ready + ` === 20`)
}

// With --history, the slider begins where that does, not at the last minutes.
func TestLongHistory(t *testing.T) {
	c := start(t, "--nodes", "2", "--clock", "virtual", "--seed", "1", "--history", "2h")
	c.deploy("web", 4)
	p := c.open(1280, 800)
	p.until(ready + ` === 4`)
	c.run("", "kubectl", "delete", "deployment", "web")
	p.until(ready + ` === 0`)
	c.run("", "clock", "advance", "1h")
	p.press("Look back")
	p.shows("[role=status]", "the past")
	p.do(chromedp.Focus(`input[type=range]`), chromedp.KeyEvent(kb.Home))
	p.shows(".scrubber output", "history from 1 to")
	for range 400 {
		if p.value(`Number(document.querySelector("[data-phase=ready]")?.textContent ?? 0)`) == 4 {
			return
		}
		p.do(chromedp.KeyEvent(kb.ArrowRight))
		p.until(`document.querySelector("[role=status]").textContent === "the past"`)
	}
	t.Error("the pods of an hour ago are not found")
}
