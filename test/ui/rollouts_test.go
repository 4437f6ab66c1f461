package ui

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
)

// progressOf is the progress in the list of workloads.
func progressOf(workload string) string {
	return fmt.Sprintf(`[...document.querySelectorAll(".list button")].find(b => b.innerText.startsWith(%q))`, workload)
}

// isIn waits until a workload's progress has a state.
func (p *page) isIn(state, workload string) {
	p.t.Helper()
	p.until(progressOf(workload) + fmt.Sprintf(`?.querySelector(".bar.%s") instanceof Element`, state))
}

// A rollout is done when kubectl rollout status says so, and one that is stuck says why.
func TestRollouts(t *testing.T) {
	c := start(t, "--nodes", "3", "--clock", "virtual", "--seed", "1")
	c.deploy("web", 1)
	c.deploy("api", 3)
	p := c.open(1280, 800)
	p.until(ready + ` === 4`)
	p.do(chromedp.KeyEvent("4"))
	p.isIn("done", "Deployment/web")

	// The new pod fits nowhere, and the old one is available.
	c.run("", "kubectl", "patch", "deployment", "web", "--type=json", "-p", `[{"op": "replace", "path": "/spec/template/spec/containers/0/resources/requests/cpu", "value": "500"}]`)
	p.isIn("stuck", "Deployment/web")
	p.until(progressOf("Deployment/web") + `.innerText.includes("0 of 1")`)
	p.until(progressOf("Deployment/web") + `.innerText.includes("Unschedulable")`)
	p.do(chromedp.Click(`//li/button[contains(., "Deployment/web")]`, chromedp.BySearch))
	p.shows("section.stuck .reasons", "Insufficient cpu")
	p.until(`document.querySelectorAll(".sets .bar.stuck").length === 1 && document.querySelectorAll(".sets .bar.done").length === 1`)
	p.save("rollouts-stuck")
	p.do(chromedp.EmulateViewport(390, 844))
	p.save("rollouts-stuck-390")
	p.do(chromedp.EmulateViewport(1280, 800))

	// A chart goes on while another one is looked at.
	samples := `document.querySelectorAll(".u-legend .u-series").length`
	p.until(samples + " === 5") // time, desired, new and available, new, old
	p.do(chromedp.Click(`//li/button[contains(., "Deployment/api")]`, chromedp.BySearch))
	p.until(`document.querySelector(".chart").getAttribute("aria-label").includes("new, available 3")`)
	c.run("", "kubectl", "rollout", "undo", "deployment/web")
	p.isIn("done", "Deployment/web")
	p.do(chromedp.Click(`//li/button[contains(., "Deployment/web")]`, chromedp.BySearch))
	p.until(`document.querySelector(".chart").getAttribute("aria-label").includes("old 0")`)

	// The chart begins before the page was opened, and two revisions are beside each other.
	p.until(`[...document.querySelectorAll(".beside .del")].some(e => e.textContent.includes('cpu: "500"')) && [...document.querySelectorAll(".beside .ins")].some(e => e.textContent.includes('cpu: "100m"'))`)
	p.save("rollouts-revisions")

	// The other kinds.
	c.run(`{"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"}, "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "db"}},
		"template": {"metadata": {"labels": {"app": "db"}}, "spec": {"nodeSelector": {"disk": "fast"}, "containers": [{"name": "c", "image": "nginx"}]}}}}`, "kubectl", "apply", "-f", "-")
	c.run(`{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "once"}, "spec": {"backoffLimit": 0, "template": {"spec": {"restartPolicy": "Never",
		"containers": [{"name": "c", "image": "busybox", "command": ["sh", "-c", "exit 3"]}]}}}}`, "kubectl", "apply", "-f", "-")
	p.isIn("stuck", "StatefulSet/db")
	p.isIn("failed", "Job/once")
	p.until(progressOf("Job/once") + `.innerText.includes("BackoffLimitExceeded")`)
	c.run("", "kubectl", "label", "node", "node-0", "disk=fast")
	p.isIn("done", "StatefulSet/db")
}

// A chart has the rollouts from before the page was opened, although each took less than a pixel of
// the time: it marks them, and shows each state by change.
func TestRolloutsPast(t *testing.T) {
	c := start(t, "--nodes", "3", "--clock", "virtual", "--seed", "1")
	c.deploy("web", 3)
	for i := range 4 {
		c.run("", "clock", "advance", "1m")
		c.run("", "kubectl", "set", "image", "deployment/web", fmt.Sprintf("c=nginx:%d", i))
		c.run("", "kubectl", "rollout", "status", "deployment/web")
	}
	c.run("", "clock", "advance", "1m")
	p := c.open(1280, 800)
	p.until(ready + ` === 3`)
	p.goTo("rollouts")
	p.shows(".chart-axis", "4 changes of the spec")
	states := p.value(`parseInt(document.querySelector(".chart-axis span").innerText)`)
	if states < 20 {
		t.Errorf("the chart of 4 rollouts of 3 pods has %v states", states)
	}
	p.save("rollouts-past")
	p.choose(`select[aria-label=Axis]`, "change")
	p.shows(".u-legend", "new, available")
	p.save("rollouts-past-change")
}
