package ui

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// A page of "minikcm ui --look" shows all, says that it may only look, and cannot change anything.
func TestLook(t *testing.T) {
	c := start(t, "--nodes", "3", "--clock", "virtual", "--seed", "1")
	c.deploy("web", 3)
	p := c.visit(1280, 800, c.run("", "ui", "--look"))
	p.until(ready + ` === 3`)
	p.until(`getComputedStyle(document.querySelector("header h1"), "::after").content === '"view only"'`)
	if n := p.value(`[...document.querySelectorAll(".clock button, header [aria-label=Create]")].filter(e => e.offsetWidth > 0).length`); n > 0 {
		t.Errorf("%v controls of the header are shown", n)
	}
	p.do(chromedp.Evaluate(`location.hash = "rollouts?object=apps/deployments/default/web"`, nil))
	p.shows("dialog", "Overview")
	p.until(`[...document.querySelectorAll("dialog .acts button")].length > 0`)
	p.press("Restart")
	p.do(chromedp.Click(`dialog form.act button[type=submit]`))
	p.shows("dialog form.act [role=alert]", "look")
	if text := c.run("", "kubectl", "get", "deploy", "web", "-o", "jsonpath={.spec.template.metadata.annotations}"); text != "" {
		t.Errorf("it has changed the Deployment: %s", text)
	}
	p.save("look")
}
