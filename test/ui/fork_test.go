package ui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// A fork is a cluster of its own that goes on from the moment that is shown, and has a page.
func TestFork(t *testing.T) {
	c := start(t, "--nodes", "3", "--clock", "virtual", "--seed", "1")
	c.deploy("web", 6)
	p := c.open(1280, 720)
	p.until(ready + ` === 6`)
	p.press("Look back")
	p.shows("[role=status]", "the past")
	c.run("", "kubectl", "delete", "deployment", "web")
	p.press("Fork from here")
	p.shows(".forks li", "open its page")
	p.save("fork")
	var link, kubeconfig string
	p.do(chromedp.AttributeValue(".forks li a", "href", &link, nil), chromedp.Text(".forks li code", &kubeconfig))
	kubeconfig = strings.TrimPrefix(kubeconfig, "export KUBECONFIG=")

	// The fork has what the cluster has no more, and its clock is its own.
	if pods := c.run("", "kubectl", "--kubeconfig", kubeconfig, "get", "pods", "-o", "name"); strings.Count(pods, "pod/web-") != 6 {
		t.Errorf("the fork has the pods\n%s", pods)
	}
	q := c.visit(1280, 720, link)
	q.until(ready + ` === 6`)
	q.shows("header .badge", "fork-1")
	q.until(`document.title.startsWith("fork-1") && getComputedStyle(document.querySelector("header")).borderTopWidth === "4px"`)
	if n := p.value(`document.querySelectorAll("header .badge").length`); n != 0 {
		t.Error("the cluster is shown as a fork, too")
	}
	q.save("fork-page")
	q.press("Pause")
	q.shows("header button", "Resume")
	p.press("Now")
	p.until(ready + ` === 0`)
	p.shows("header button", "Pause")

	// Both are compared in one view, each with its clock; changes of both are seen.
	p.press("Look back")
	p.do(chromedp.Click(`.forks li a[href^="#compare"]`))
	p.shows(".compare .side", "3 of 3 ready")
	p.shows(".compare tbody tr", "default/web")
	p.until(`document.querySelector("[aria-label='fork-1']").innerText.includes("paused")`)
	p.until(`[...document.querySelectorAll("[aria-label='fork-1'] dt")].some(d => d.textContent === "Pods Running" && d.nextSibling.textContent === "6")`)
	p.until(`[...document.querySelectorAll("[aria-label='This cluster'] dt")].some(d => d.textContent === "Pods Running" && d.nextSibling.textContent === "0")`)
	c.run("", "kubectl", "--kubeconfig", kubeconfig, "cordon", "node-1")
	p.shows(".compare tbody tr", "spec.unschedulable")
	if lines := p.value(`document.querySelector("header").offsetHeight / parseFloat(getComputedStyle(document.querySelector("header button")).height)`); lines > 2 {
		t.Errorf("the header has %v lines", lines)
	}
	p.save("compare")
	p.controlFork(c)
	c.run("", "kubectl", "create", "deployment", "api", "--image=nginx", "--replicas=3")
	p.shows("[aria-label='This cluster'] .newest", "Deployment/api")
	p.do(chromedp.KeyEvent("1"))
	p.press("Look back")
	p.do(chromedp.Focus(".forks li button"), chromedp.KeyEvent(kb.Enter))
	p.until(`document.querySelectorAll(".forks li").length === 0`)
	p.do(chromedp.Evaluate(`location.hash = "compare?fork=fork-1"`, nil))
	p.shows("main", "There is no fork “fork-1”")
}

// controlFork controls the time of fork-1, which is paused, beside the cluster, whose own time stands
// still for it.
func (p *page) controlFork(c *cluster) {
	p.t.Helper()
	c.run("", "clock", "pause")
	p.shows("header .clock button", "Resume")
	const group = `[role="group"][aria-label="Time of fork-1"]`
	timeOf := func(selector string) (at time.Time) {
		p.t.Helper()
		var text string
		p.do(chromedp.Text(selector+" time", &text))
		at, err := time.Parse("2006-01-02 15:04:05", strings.TrimSpace(text))
		if err != nil {
			p.t.Fatal(err)
		}
		return at
	}
	press := func(button string) {
		p.t.Helper()
		p.do(chromedp.Click(fmt.Sprintf(`//*[@aria-label="Time of fork-1"]/button[normalize-space()=%q]`, button), chromedp.BySearch))
	}
	cluster, fork := timeOf("header .clock"), timeOf(group)
	press("+1 h")
	p.until(fmt.Sprintf(`document.querySelector(%q).textContent === %q`, group+" time", fork.Add(time.Hour).Format("2006-01-02 15:04:05")))
	press("Step")
	p.until(fmt.Sprintf(`document.querySelector(%q).textContent > %q`, group+" time", fork.Add(time.Hour).Format("2006-01-02 15:04:05")))
	p.do(chromedp.SetValue(group+" select", "100"), chromedp.Evaluate(`document.querySelector('`+group+` select').dispatchEvent(new Event("change", {bubbles: true}))`, nil))
	p.until(fmt.Sprintf(`document.querySelector(%q).value === "100"`, group+" select"))
	p.shows(".pace", "paused")
	// With the keyboard, and the shortcut of the header does not press a button twice.
	p.do(chromedp.Focus(group+" button"), chromedp.KeyEvent(kb.Enter))
	p.shows(".pace", "100×")
	p.shows(group, "Pause")
	press("Pause")
	p.shows("[aria-label='fork-1'] .pace", "paused")
	if now := timeOf("header .clock"); !now.Equal(cluster) {
		p.t.Errorf("the time of the cluster has moved from %v to %v", cluster, now)
	}
	for _, dark := range []bool{false, true} {
		p.do(scheme(dark))
		p.save(fmt.Sprintf("compare-clock-dark-%t", dark))
	}
	p.do(scheme(false))
	c.run("", "clock", "resume")
	p.shows("header .clock button", "Pause")
}
