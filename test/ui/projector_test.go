package ui

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// On a projector, type is large, the header one line, and nothing is beyond the edge.
func TestProjector(t *testing.T) {
	c := start(t, "--nodes", "3", "--clock", "virtual", "--seed", "1")
	c.deploy("web", 6)
	p := c.open(1920, 1080)
	p.until(ready + ` === 6`)
	p.choose(`select[aria-label="Theme"]`, "projector")
	p.until(`getComputedStyle(document.body).fontSize === "20px"`)
	p.until(`[...document.querySelectorAll("header .jump, .cluster .toolbar")].every(e => e.offsetWidth === 0)`)
	for _, view := range []string{"cluster", "timeline", "rollouts", "loop?tour=node-dies"} {
		p.goTo(view)
		p.until(`document.querySelector("main").innerText.length > 20`)
		if height, width := p.value(`document.querySelector("header").offsetHeight`), p.value(`document.documentElement.scrollWidth`); height > 60 || width > 1920 {
			t.Errorf("in %s, the header is %v high and the page %v wide", view, height, width)
		}
	}
	p.shows(".tour", "step 1 of 6")
	p.save("projector")
	p.do(chromedp.Reload())
	p.until(`document.documentElement.dataset.projector === ""`)
}
