package ui

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
)

// shownWrites is the number of writes on the timeline's lanes.
const shownWrites = `[...(document.querySelector(".timeline canvas")?.getAttribute("aria-label") ?? "").matchAll(/ (\d+)(,|$)/g)].reduce((n, m) => n + Number(m[1]), 0)`

// The timeline shows each write of the record, including writes that are recorded after a later
// revision. After a reset, it shows the new cluster's writes.
func TestTimeline(t *testing.T) {
	c := start(t, "--nodes", "8", "--clock", "virtual", "--seed", "1")
	p := c.open(1280, 720)
	p.do(chromedp.KeyEvent("3"))
	p.until(shownWrites + " > 0")
	for i := range 4 {
		c.deploy(fmt.Sprint("web-", i), 60)
	}
	c.run("", "kubectl", "scale", "deployment", "web-0", "--replicas=5")
	p.do(chromedp.KeyEvent("1"))
	p.until(ready + ` === 185`)
	p.press("Pause")
	p.shows("header button", "Resume")
	recorded := func() (all int) {
		t.Helper()
		var writes []struct {
			Resource struct{ Resource string }
		}
		if err := json.Unmarshal([]byte(c.run("", "kubectl", "get", "--raw", "/minikcm/v1/writes")), &writes); err != nil {
			t.Fatal(err)
		}
		for _, w := range writes {
			if w.Resource.Resource != "leases" {
				all++
			}
		}
		return all
	}
	p.do(chromedp.KeyEvent("3"))
	all := recorded()
	p.until(fmt.Sprintf("%s === %d", shownWrites, all))

	// While the page follows.
	c.deploy("api", 60)
	c.run("", "kubectl", "scale", "deployment", "web-1", "--replicas=100")
	p.until(fmt.Sprintf("%s > %d", shownWrites, all+500))
	c.run("", "clock", "resume")
	c.run("", "clock", "pause")
	p.until(fmt.Sprintf("%s === %d", shownWrites, recorded()))

	// On a virtual clock, writes of one instant are apart.
	p.until(`document.querySelector("select[aria-label=Axis]").value === "revision"`)
	p.save("timeline-revisions")
	p.choose("select[aria-label=Axis]", "time")
	p.until(fmt.Sprintf("%s === %d", shownWrites, recorded()))

	c.run("", "reset")
	p.until(fmt.Sprintf("%s > 0 && %s < 300", shownWrites, shownWrites))
}

// The timeline shows the writes that are chosen, the user's first, faults and the steps of a scenario,
// and it is zoomed with the wheel and with two fingers.
func TestTimelineChoice(t *testing.T) {
	c := start(t, "--nodes", "3", "--clock", "virtual", "--seed", "1")
	c.deploy("web", 3)
	c.deploy("api", 2)
	p := c.open(1280, 720)
	p.until(ready + ` === 5`)
	p.goTo("timeline")
	label := `(document.querySelector(".timeline canvas")?.getAttribute("aria-label") ?? "kubectl")`
	p.until(label + `.includes("kubectl 2")`)
	p.until(`/: (kubectl|minikcm)/.test(` + label + `)`)
	p.choose(`select[aria-label=Kind]`, "ReplicaSet")
	p.fill(`.timeline input[type=search]`, `"default/web"`)
	p.until(label + `.includes("replicaset-controller")`)
	p.until(`!` + label + `.includes("kubectl")`)
	p.shows(`.timeline [role=status]`, "of")
	p.save("timeline-chosen")
	p.press("Show all")
	p.choose(`select[aria-label="Written by"]`, "*")
	p.until(`!` + label + `.includes("replicaset-controller")`)
	p.until(label + `.includes("kubectl 2")`)
	p.press("Show all")

	c.run("", "fault", "node", "crash", "node-1", "--for", "1m")
	p.goTo("scenarios?scenario=pod-kill-storm")
	p.press("Run")
	p.until(`location.hash.includes("run=")`)
	p.goTo("timeline")
	p.until(label + `.includes("pod-kill-storm: ")`)
	p.until(label + `.includes("crash nodes node-1")`)
	p.save("timeline-bands")

	// The middle of the axis moves apart when two fingers do.
	p.press("All")
	whole := p.value(rangeShown)
	p.do(chromedp.Evaluate(`(() => {
		const c = document.querySelector(".timeline canvas"), r = c.getBoundingClientRect();
		c.setPointerCapture = () => {}; // there are no such pointers
		const send = (type, id, x) => c.dispatchEvent(new PointerEvent(type, {pointerId: id, clientX: r.x + x, clientY: r.y + 100, bubbles: true}));
		send("pointerdown", 1, 500); send("pointerdown", 2, 600); send("pointermove", 2, 700); send("pointerup", 2, 700); send("pointerup", 1, 500);
	})()`, nil))
	p.until(fmt.Sprintf("Math.abs(%s - %v / 2) < 2", rangeShown, whole))
	p.do(chromedp.Evaluate(`document.querySelector(".timeline canvas").dispatchEvent(new WheelEvent("wheel", {deltaY: 100, bubbles: true, cancelable: true}))`, nil))
	p.until(fmt.Sprintf("%s > %v * 0.6", rangeShown, whole))
}

// rangeShown is the part of the axis that the timeline shows.
const rangeShown = `(([from, to]) => to - from)(document.querySelector(".timeline canvas").dataset.range.split(" ").map(Number))`
