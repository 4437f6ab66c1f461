package ui

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
)

// The page speaks Chinese after a switch, in each view, and after it is loaded again.
func TestLanguage(t *testing.T) {
	c := start(t, "--nodes", "3", "--clock", "virtual", "--seed", "1")
	c.deploy("web", 6)
	p := c.open(1280, 800)
	p.until(ready + ` === 6`)
	line := p.value(`document.querySelector("header").offsetHeight`)
	p.do(chromedp.Click(`header [lang=zh]`))
	p.shows("nav", "时间线")
	p.shows(".headline", "一切正常：3 个节点，6 个 Pod")
	p.do(chromedp.Reload())
	p.until(`document.querySelector("[role=status]")?.textContent === "实时"`)
	p.until(`document.documentElement.lang === "zh-Hans"`)
	p.until(ready + ` === 6`)
	for i, view := range []string{"cluster", "why?resource=deployments&group=apps&namespace=default&name=web", "timeline", "rollouts", "faults", "loop", "scenarios", "rollouts?object=apps/deployments/default/web"} {
		p.do(chromedp.Evaluate(fmt.Sprintf(`location.hash = %q`, view), nil))
		p.until(`document.querySelector("main").innerText.length > 20`)
		if height := p.value(`document.querySelector("header").offsetHeight`); height > line {
			t.Errorf("in %s, the header is %v high, and was %v in English", view, height, line)
		}
		p.save(fmt.Sprintf("zh-%d", i+1))
	}
	p.shows("dialog", "概览")
	c.run("", "kubectl", "set", "resources", "deployment/web", "--requests=cpu=500") // fits nowhere
	p.goTo("why?resource=deployments&group=apps&namespace=default&name=web")
	p.shows(".why h2", "未就绪")
}
