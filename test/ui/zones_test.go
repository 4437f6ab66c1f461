package ui

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// Nodes are grouped by their zones, and the picture is enlarged and moved with the mouse, two fingers
// and keys; what is under the mouse says its name.
func TestZones(t *testing.T) {
	c := start(t, "--nodes", "0", "--clock", "virtual", "--seed", "1")
	for _, zone := range []string{"east", "west"} {
		c.run(fmt.Sprintf(`{"apiVersion":"simulation.minikcm.dev/v1alpha1","kind":"NodePool","metadata":{"name":%q},"spec":{"nodes":3,"zones":[%q],"capacity":{"cpu":"4"}}}`, zone, zone), "kubectl", "apply", "-f", "-")
	}
	c.deploy("web", 12)
	p := c.open(1440, 900)
	p.until(ready + ` === 12`)
	p.do(chromedp.Evaluate(`window.at = (type, x, y, more = {}) => {
		const c = document.querySelector(".picture canvas"), r = c.getBoundingClientRect();
		c.dispatchEvent(new (type === "wheel" ? WheelEvent : PointerEvent)(type, {clientX: r.x + x * r.width, clientY: r.y + y * r.height, bubbles: true, cancelable: true, pointerId: 1, ...more}));
	}`, nil))
	// The upper half is one zone, the lower half the other.
	for y, zone := range map[float64]string{0.4: "east", 0.9: "west"} {
		p.do(chromedp.Evaluate(fmt.Sprintf(`at("pointermove", 0.1, %v)`, y), nil))
		p.shows(".tip", zone)
		p.shows(".tip", "/ 4")
		// Beside the mouse, and not over what it is on.
		p.until(fmt.Sprintf(`Math.abs(document.querySelector(".tip").getBoundingClientRect().left - document.querySelector(".picture").getBoundingClientRect().left - 0.1 * document.querySelector(".picture").clientWidth) < 60 && %v > 0`, y))
	}
	p.save("zones")
	scale := `Number(document.querySelector(".picture").dataset.scale)`
	p.do(chromedp.Evaluate(`at("wheel", 0.1, 0.4, {deltaY: -1}); at("wheel", 0.1, 0.4, {deltaY: -1})`, nil))
	p.until(scale + ` > 1.5`)
	p.do(chromedp.Evaluate(`at("pointerdown", 0.1, 0.4, {pointerId: 1}); at("pointerdown", 0.2, 0.4, {pointerId: 2}); at("pointermove", 0.3, 0.4, {pointerId: 2}); at("pointerup", 0.3, 0.4, {pointerId: 2}); at("pointerup", 0.1, 0.4, {pointerId: 1})`, nil))
	p.until(scale + ` > 3`)
	p.save("zones-enlarged")
	// A node that keys select is brought into view.
	p.do(chromedp.Focus(".picture canvas"), chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.ArrowRight))
	p.shows("aside h2", "west-1")
	p.shows("aside", "Used now")
	p.do(chromedp.Evaluate(`at("pointermove", 0.5, 0.5)`, nil))
	p.shows(".tip", "west-1")
	p.do(chromedp.KeyEvent("0"))
	p.until(scale + ` === 1`)
}
