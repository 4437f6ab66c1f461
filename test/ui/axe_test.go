package ui

import (
	"os"
	"testing"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// axeFile is the accessibility checker, which "npm --prefix ui ci" downloads.
const axeFile = "../../ui/node_modules/axe-core/axe.min.js"

// findAxe returns the findings as text, when nothing on the page moves any more: colors of what
// arrives are not those that it has then.
const findAxe = `Promise.allSettled(document.getAnimations().map((a) => a.finished)).then(() => axe.run({ resultTypes: ["violations"] })).then((r) =>
	r.violations.flatMap((v) => v.nodes.map((n) => v.id + ": " + n.html.slice(0, 160) + " " + ([...n.any, ...n.all, ...n.none][0]?.message ?? ""))))`

// Axe has no finding in any view, in light and dark, on a desk and on a phone.
func TestAxe(t *testing.T) {
	axe, err := os.ReadFile(axeFile)
	if err != nil {
		t.Skip("axe is not there: npm --prefix ui ci downloads it")
	}
	c := start(t, "--nodes", "3", "--clock", "virtual", "--seed", "1")
	c.deploy("web", 6)
	c.run("", "fault", "node", "crash", "node-1", "--for", "1h")
	p := c.open(1440, 900)
	p.until(ready + ` === 6`)
	p.do(chromedp.Evaluate(string(axe), nil))
	views := []string{
		"cluster", "why?resource=deployments&group=apps&namespace=default&name=web", "timeline", "rollouts", "faults", "loop", "scenarios", "scenarios?own=1", "scenarios?scenario=node-loss",
		"cluster?tour=rollout", "rollouts?object=apps/deployments/default/web", "rollouts?object=apps/deployments/default/web&tab=yaml", "rollouts?object=apps/deployments/default/web&tab=history",
		"rollouts?object=apps/deployments/default/web&tab=related", "rollouts?object=apps/deployments/default/web&tab=events", "rollouts?object=/nodes//node-1", "cluster?create=1",
	}
	for _, size := range [][2]int64{{1440, 900}, {390, 844}} {
		p.do(chromedp.EmulateViewport(size[0], size[1]))
		for _, dark := range []bool{false, true} {
			p.do(scheme(dark))
			for _, view := range views {
				p.goTo(view)
				p.until(`document.querySelector("main").innerText.length > 20 && ![...document.querySelectorAll("dialog .dim")].some(e => e.innerText === "loading…")`)
				var findings []string
				p.do(chromedp.Evaluate(findAxe, &findings, func(e *runtime.EvaluateParams) *runtime.EvaluateParams { return e.WithAwaitPromise(true) }))
				for _, finding := range findings {
					t.Errorf("%s at %d, dark %t: %s", view, size[0], dark, finding)
				}
			}
		}
	}
}
