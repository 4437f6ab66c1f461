package ui

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// Objects are created, scaled, given another image, undone and drained in the page, each with its
// command, and a recording repeats it.
func TestActs(t *testing.T) {
	c := start(t, "--nodes", "3", "--clock", "virtual", "--seed", "1")
	p := c.open(1440, 900)
	p.goTo("faults")
	p.press("Record")
	p.shows(".faults", "Recording since")
	p.press("+ Create")
	p.fill("dialog textarea", `text.replace("nginx:1.27", "nginx:1.27\n        bogus: 1")`)
	p.press("Try it")
	p.shows("dialog .card.bad", "bogus")
	p.fill("dialog textarea", `text.replace("\n        bogus: 1", "")`)
	p.press("Try it")
	p.shows("dialog .card", "would be created")
	p.save("create")
	if out := c.run("", "kubectl", "get", "deploy"); !strings.Contains(out, "No resources") {
		t.Errorf("trying has created %s", out)
	}
	p.press("Apply")
	p.shows(`dialog [aria-label="What was done"]`, "Service/shop created")
	p.do(chromedp.Click(`//dialog//a[normalize-space()="Deployment/shop"]`, chromedp.BySearch))
	p.shows("dialog .tone", "done, 3 of 3")

	p.press("Scale")
	p.fill("dialog input[name=replicas]", `"5"`)
	p.shows("dialog .act .command", "kubectl scale deployment/shop --replicas=5")
	p.press("What would change?")
	p.shows("dialog .act .diff ins", "replicas: 5")
	p.save("act-scale")
	p.submit()
	p.shows("dialog .tone", "done, 5 of 5")
	p.press("Set image")
	p.fill("dialog input[name=image]", `"nginx:2"`)
	p.submit()
	p.shows("dialog .facts", "nginx:2")
	p.press("Restart")
	p.submit()
	p.until(`!document.querySelector("dialog .act")`)
	p.press("Undo")
	p.shows("dialog .act select", "nginx:1.27")
	p.do(chromedp.Evaluate(`(() => { const s = document.querySelector("dialog .act select"); s.value = [...s.options].find(o => o.text.includes("1.27")).value; s.dispatchEvent(new Event("change", {bubbles: true})); })()`, nil))
	p.shows("dialog .act .command", "kubectl rollout undo deployment/shop --to-revision=1")
	p.submit()
	p.shows("dialog .facts", "nginx:1.27")

	p.goTo("faults?object=/nodes//node-1")
	p.press("Drain")
	p.shows("dialog .act .command", "kubectl drain node-1 --ignore-daemonsets")
	p.submit()
	p.shows("dialog .act", "The node is drained")
	p.save("act-drain")
	if pods := c.run("", "kubectl", "get", "pods", "--field-selector", "spec.nodeName=node-1", "-o", "name"); strings.Contains(pods, "pod/") {
		t.Errorf("after the drain, node-1 has %s", pods)
	}
	p.press("Uncordon")
	p.submit()
	p.shows("dialog .facts", "yes")

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
	if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), "- scale: {target: deployment/shop") {
		t.Fatalf("the scenario does not scale: %v\n%s", err, text)
	}
	if report := c.run("", "scenario", "run", file); !strings.Contains(report, "PASS recorded") {
		t.Errorf("the scenario does not repeat what was done:\n%s", report)
	}
}

// submit presses the button of an act's form, once its command is known.
func (p *page) submit() {
	p.t.Helper()
	p.until(`document.querySelector("dialog .act button[type=submit]")?.disabled === false`)
	p.do(chromedp.Click("dialog .act button[type=submit]"))
}

// The network of an object is broken in its panel, and the fault is shown there, at its pods and in
// the Rollouts view, with a button that stops it.
func TestNetworkFaults(t *testing.T) {
	c := start(t, "--nodes", "3", "--clock", "virtual", "--seed", "1")
	c.deploy("web", 3)
	p := c.open(1440, 900)
	p.until(ready + ` === 3`)
	p.goTo("rollouts?object=apps/deployments/default/web")
	p.press("Break")
	p.choose(`dialog select[aria-label="Fault"]`, "network delay")
	p.fill(`dialog input[aria-label="delay"]`, `"300ms"`)
	p.do(chromedp.Click(`dialog .menu summary`))
	p.shows("dialog .menu .command", "minikcm fault network delay --from deploy/web --delay 300ms --for 1m")
	p.do(chromedp.Click(`dialog .menu button[type=submit]`))
	p.shows(`dialog [aria-label="Faults here"]`, "delay the packets of deploy/web")
	p.shows(`.rollouts [aria-label="Faults here"]`, "delay the packets of deploy/web")
	p.do(chromedp.Click(`dialog [aria-label^="Pods"] a`))
	p.shows(`dialog [aria-label="Faults here"]`, "delay the packets of deploy/web")
	p.goTo("cluster")
	p.save("faults-network")
	p.do(chromedp.Focus("canvas"), chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.Enter))
	p.shows(`aside [aria-label="Faults here"]`, "delay the packets of deploy/web")
	p.press("Stop")
	p.until(`!document.querySelector("aside .lasting")`)
	p.choose(`aside select[aria-label="Fault"]`, "dns nxdomain")
	p.do(chromedp.Click(`form[aria-label="Break the pod"] button[type=submit]`))
	p.shows(`aside [aria-label="Faults here"]`, "answer NXDOMAIN")
}
