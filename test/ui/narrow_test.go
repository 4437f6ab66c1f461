package ui

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
)

// On a phone, each view has the width of the screen, and its parts are below each other.
func TestNarrow(t *testing.T) {
	c := start(t, "--nodes", "3", "--clock", "virtual", "--seed", "1")
	c.deploy("web", 6)
	p := c.open(390, 844)
	p.until(ready + ` === 6`)
	for i, view := range []string{"cluster", "why", "timeline", "rollouts", "faults", "loop", "scenarios"} {
		p.do(chromedp.Evaluate(fmt.Sprintf(`location.hash = %q`, view), nil))
		p.until(`document.querySelector("nav [aria-current]")?.getAttribute("href") === "#` + view + `"`)
		if view == "loop" {
			p.until(`document.querySelectorAll(".station").length === 5`)
		}
		if width := p.value(`document.documentElement.scrollWidth`); width > 390 {
			t.Errorf("%s is %v wide", view, width)
		}
		p.until(`((nav, tab) => tab.left >= nav.left - 1 && tab.right <= nav.right + 1)(...["nav", "nav [aria-current]"].map(e => document.querySelector(e).getBoundingClientRect()))`)
		if height := p.value(`document.querySelector("header").offsetHeight`); height > 180 {
			t.Errorf("in %s, the header is %v high", view, height)
		}
		// Text and buttons are not cut off or on top of each other.
		if n := p.value(`[...document.querySelectorAll(".station, header button, aside, .list")].filter(e => e.offsetWidth > 0 && (e.getBoundingClientRect().right > innerWidth + 1)).length`); n > 0 {
			t.Errorf("in %s, %v parts are beyond the edge", view, n)
		}
		p.save(fmt.Sprintf("narrow-%d-%s", i+1, view))
	}
	p.do(chromedp.Evaluate(`location.hash = "loop"`, nil))
	p.until(`document.querySelectorAll(".station").length === 5`)
	if n := p.value(`[...document.querySelectorAll(".station")].filter(e => e.offsetWidth < 300).length`); n > 0 {
		t.Errorf("%v stages of the loop are narrow", n)
	}
}
