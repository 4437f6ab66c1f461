package ui

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// The header is one line high in each view and state at 1280x800, and with the larger type of a
// projector.
func TestHeader(t *testing.T) {
	c := start(t, "--nodes", "3", "--clock", "virtual", "--seed", "1")
	c.deploy("web", 6)
	p := c.open(1280, 800)
	p.until(ready + ` === 6`)
	line := p.value(`parseFloat(getComputedStyle(document.querySelector("header button")).height)`)
	check := func(state string) {
		t.Helper()
		p.until(`document.querySelector("header [role=status]") !== null`)
		height, content := p.value(`document.querySelector("header").offsetHeight`), p.value(`document.querySelector("header").scrollWidth`)
		if limit := 2 * line; height > limit || content > p.value(`innerWidth`) {
			t.Errorf("%s: the header is %v high and %v wide, want at most %v and the width of the page", state, height, content, limit)
		}
	}
	views := []string{"cluster", "why", "timeline", "rollouts", "faults", "loop", "scenarios"}
	everywhere := func(state string) {
		t.Helper()
		for _, view := range views {
			p.do(chromedp.Click(`nav a[href="#` + view + `"]`))
			p.until(`document.querySelector("nav [aria-current]").getAttribute("href") === "#` + view + `"`)
			check(view + ", " + state)
		}
	}
	everywhere("live")
	p.press("Pause")
	p.shows("header button", "Resume")
	c.run("", "clock", "speed", "1234.5")
	p.until(`document.querySelector(".clock select").value === "1234.5"`)
	everywhere("paused, with an odd speed")
	p.do(chromedp.Click(`nav a[href="#faults"]`))
	p.press("Record")
	p.shows("header", "rec 0")
	for range 3 {
		p.press("+1 min")
	}
	p.shows("header", "rec 3")
	everywhere("recording")
	p.save("header")
	p.do(chromedp.Click(`nav a[href="#cluster"]`))
	p.press("Look back")
	p.shows("[role=status]", "the past")
	check("the past")
	p.do(chromedp.EmulateViewport(1920, 1080))
	check("a projector")
	p.save("header-1920")
	p.do(chromedp.EmulateViewport(1600, 900))
	check("1600 wide, where the type becomes larger")
	p.do(chromedp.EmulateViewport(1280, 800))
	p.press("Now")
	p.shows("[role=status]", "live")

	// The texts of what seldom is are put in by hand.
	for _, state := range []string{"offline", "no answer", "loading…", "the past"} {
		p.do(chromedp.Evaluate(`document.querySelector("[role=status]").textContent = "`+state+`"`, nil))
		check(state)
	}
}
