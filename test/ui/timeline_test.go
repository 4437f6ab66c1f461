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
