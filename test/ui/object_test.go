package ui

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// goTo changes the part of the address after #.
func (p *page) goTo(hash string) {
	p.t.Helper()
	p.do(chromedp.Evaluate(fmt.Sprintf(`location.hash = %q`, hash), nil))
}

// fill replaces the text of a field as a user does.
func (p *page) fill(selector, expression string) {
	p.t.Helper()
	p.until(fmt.Sprintf(`document.querySelector(%q) !== null`, selector))
	p.do(chromedp.Evaluate(fmt.Sprintf(`(() => { const e = document.querySelector(%q); const text = e.value; e.value = %s; e.dispatchEvent(new Event("input", {bubbles: true})); })()`, selector, expression), nil))
}

// An object's panel opens where the object is named, and shows all of it.
func TestObjectPanel(t *testing.T) {
	c := start(t, "--nodes", "3", "--clock", "virtual", "--seed", "1")
	c.deploy("web", 3)
	c.run(`{"apiVersion":"v1","kind":"Service","metadata":{"name":"front"},"spec":{"selector":{"app":"web"},"ports":[{"port":80}]}}`, "kubectl", "apply", "-f", "-")
	c.run(`{"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy","metadata":{"name":"closed"},"spec":{"podSelector":{"matchLabels":{"app":"web"}}}}`, "kubectl", "apply", "-f", "-")
	p := c.open(1440, 900)
	p.until(ready + ` === 3`)

	// From the picture, with the keyboard; Escape closes it, and the focus is where it was.
	p.do(chromedp.Focus("canvas"), chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.Enter), chromedp.KeyEvent("o"))
	p.shows("dialog", "Pod in default")
	p.shows("dialog .card", "nginx")
	p.shows("dialog .owners", "Deployment/web")
	p.shows("dialog table", "ContainersReady")
	p.save("object-pod")
	p.do(chromedp.KeyEvent(kb.Escape))
	p.until(`!document.querySelector("dialog") && document.activeElement.tagName === "CANVAS"`)

	p.goTo("rollouts?object=apps/deployments/default/web")
	p.shows("dialog .tone", "done, 3 of 3")
	p.until(`document.querySelectorAll("dialog [aria-label^='Pods'] tbody tr").length === 3`)
	p.shows("dialog .command", "kubectl describe deployment/web")
	for tab, text := range map[string]string{"events": "ScalingReplicaSet", "related": "front", "why": "Created because", "yaml": "revisionHistoryLimit"} {
		p.do(chromedp.Click(fmt.Sprintf(`dialog [data-tab=%s]`, tab)))
		p.shows("dialog .tab-panel", text)
		if tab == "related" {
			p.shows("dialog .tab-panel", "closed")
		}
		p.save("object-" + tab)
	}

	// A change is tried first, and an error names the fields.
	p.press("Edit")
	p.fill("dialog textarea", `text.replace("replicas: 3", "replicas: -3")`)
	p.press("Try it")
	p.shows("dialog [aria-label=Causes]", "spec.replicas")
	p.fill("dialog textarea", `text.replace("replicas: -3", "replicas: 5")`)
	p.press("Try it")
	p.shows("dialog .diff ins", "replicas: 5")
	p.save("object-edit")
	if n := c.run("", "kubectl", "get", "deploy", "web", "-o", "jsonpath={.spec.replicas}"); n != "3" {
		t.Errorf("trying has changed the replicas to %s", n)
	}
	p.press("Apply")
	p.shows("dialog .tone", "done, 5 of 5")
	p.do(chromedp.Click(`dialog [data-tab=history]`))
	p.shows("dialog .history", "Chrom")
	// Not with the mouse: rows of newer writes move the others down.
	p.do(chromedp.Evaluate(`[...document.querySelectorAll("dialog .history tr")].find(r => r.innerText.includes("Chrom")).querySelector("input[name=to]").click()`, nil))
	p.until(`[...document.querySelectorAll("dialog .history tr")].find(r => r.innerText.includes("Chrom")).querySelector("input[name=to]").checked`)
	p.do(chromedp.Evaluate(`document.querySelector("dialog .history input[name=from]").click()`, nil))
	p.shows("dialog .diff del", "readyReplicas")
	p.save("object-history")

	// The past cannot be changed, and has no logs.
	at := c.run("", "kubectl", "get", "deploy", "web", "-o", "jsonpath={.metadata.resourceVersion}")
	c.run("", "kubectl", "scale", "deploy/web", "--replicas=1")
	p.goTo("timeline?object=apps/deployments/default/web&tab=yaml&rev=" + at)
	p.shows("dialog", "as of revision "+at)
	p.shows("dialog .yaml", "replicas: 5")
	if n := p.value(`document.querySelectorAll("dialog .acts, dialog .tab-panel button").length`); n != 0 {
		t.Error("the past can be changed")
	}
	p.do(chromedp.Click(`//dialog//a[normalize-space()="Now"]`, chromedp.BySearch))
	p.shows("dialog .yaml", "replicas: 1")

	p.press("Delete")
	p.shows("dialog .act", "kubectl delete deployment/web")
	p.press("Delete it")
	p.shows("dialog .notice", "deleted")
	p.press("×")
	p.until(`!document.querySelector("dialog")`)
	if hash := p.hash(); strings.Contains(hash, "object") {
		t.Errorf("the address of the closed panel is %s", hash)
	}
}

func (p *page) hash() (text string) {
	p.t.Helper()
	p.do(chromedp.Evaluate(`location.hash`, &text))
	return text
}

// The log of a container is followed; on a phone the panel covers the page and keeps the focus.
func TestObjectLogs(t *testing.T) {
	c := start(t, "--nodes", "1", "--clock", "virtual", "--seed", "1")
	c.run(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"talker"},"spec":{"containers":[{"name":"c","image":"busybox","command":["sh","-c","i=0; while true; do echo line $i; i=$((i+1)); sleep 1; done"]}]}}`, "kubectl", "apply", "-f", "-")
	p := c.open(390, 844)
	p.until(ready + ` === 1`)
	p.goTo("cluster?object=/pods/default/talker&tab=logs")
	p.shows("dialog .log", "line 0")
	before := p.value(`document.querySelector("dialog .log").textContent.split("\n").length`)
	c.run("", "clock", "advance", "10s")
	p.until(fmt.Sprintf(`document.querySelector("dialog .log").textContent.split("\n").length >= %v`, before+10))
	if width := p.value(`document.documentElement.scrollWidth`); width > 390 {
		t.Errorf("the page is %v wide", width)
	}
	for range 30 {
		p.do(chromedp.KeyEvent(kb.Tab))
		if p.value(`document.querySelector("dialog").contains(document.activeElement) || document.activeElement === document.body ? 1 : 0`) == 0 {
			t.Fatal("the focus leaves the panel")
		}
	}
	p.save("object-narrow")
	p.do(chromedp.KeyEvent(kb.Escape))
	p.until(`!document.querySelector("dialog")`)
}
