package ui

import (
	"strings"
	"testing"

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
	c.run("", "kubectl", "create", "deployment", "api", "--image=nginx", "--replicas=3")
	p.shows("[aria-label='This cluster'] .newest", "Pod/api-")
	p.do(chromedp.KeyEvent("1"))
	p.press("Look back")
	p.do(chromedp.Focus(".forks li button"), chromedp.KeyEvent(kb.Enter))
	p.until(`document.querySelectorAll(".forks li").length === 0`)
	p.do(chromedp.Evaluate(`location.hash = "compare?fork=fork-1"`, nil))
	p.shows("main", "There is no fork “fork-1”")
}
