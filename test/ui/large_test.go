package ui

import (
	"flag"
	"strconv"
	"testing"
	"time"
)

var (
	largeNodes = flag.Int("nodes", 0, "measure the frames of a page of this many nodes; 0: skip")
	largePods  = flag.Int("pods", 10_000, "the pods that they have")
)

// frames counts the frames of the page for some seconds, and the longest time between two.
const frames = `new Promise(done => {
	let n = 0, longest = 0, begun = performance.now(), last = begun;
	const frame = now => {
		n++;
		longest = Math.max(longest, now - last);
		last = now;
		if (now - begun < 8000) requestAnimationFrame(frame);
		else { window.longest = longest; done(n / (now - begun) * 1000); }
	};
	requestAnimationFrame(frame);
})`

// Many pods that come, stay and are replaced leave the page its frames.
func TestLarge(t *testing.T) {
	if *largeNodes == 0 {
		t.Skip("run with -args -nodes 1000 -pods 10000")
	}
	timeout = 15 * time.Minute // for a machine with two cores and other work
	t.Cleanup(func() { timeout = time.Minute })
	c := start(t, "--nodes", strconv.Itoa(*largeNodes))
	p := c.open(1280, 720)
	measure := func(what string) {
		rate := p.fps()
		t.Logf("%s: %.0f frames a second, the longest frame %.0f ms, drawn in %.1f ms, %.0f pods, heap %.0f MB", what, rate, p.value("window.longest"),
			p.value(`Number(document.querySelector("canvas").dataset.drawn)`), p.value(ready), p.value(`(performance.memory?.usedJSHeapSize ?? 0) / 1e6`))
	}
	c.deploy("web", *largePods)
	measure("while they start")
	p.until(ready + ` === ` + strconv.Itoa(*largePods))
	measure("while nothing changes")
	c.run("", "kubectl", "set", "image", "deploy/web", "c=nginx:2")
	measure("while they are replaced")
}
