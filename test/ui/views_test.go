package ui

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

const ready = `Number(document.querySelector("[data-phase=ready]")?.textContent)`

// Every view shows a live cluster, and the keyboard operates them.
func TestViews(t *testing.T) {
	c := start(t, "--nodes", "6", "--clock", "virtual", "--seed", "1")
	c.deploy("web", 30)
	c.deploy("api", 12)
	c.run("", "kubectl", "run", "huge", "--image=nginx", `--overrides={"spec":{"containers":[{"name":"c","image":"nginx","resources":{"requests":{"cpu":"500"}}}]}}`)
	c.run("", "kubectl", "autoscale", "deployment", "api", "--min=5", "--max=20", "--cpu=60%")
	p := c.open(1280, 720)
	t.Logf("first paint after %.0f ms, the cluster drawn after %.0f ms", p.value(`performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0`), p.value(`performance.getEntriesByName("cluster-drawn")[0]?.startTime ?? 0`))

	p.until(ready + ` === 42`)
	p.until(`document.querySelector("[data-phase=unscheduled]").textContent === "1"`)
	p.save("cluster")
	p.do(chromedp.SendKeys(`form input[placeholder^="app="]`, "app in (web)"))
	p.until(ready + ` === 30`)
	p.do(chromedp.SendKeys(`form input[placeholder^="app="]`, strings.Repeat(kb.Backspace, len("app in (web)"))+"a b"))
	p.shows("[role=alert]", "not a label selector")
	p.do(chromedp.SendKeys(`form input[placeholder^="app="]`, kb.Backspace+kb.Backspace+kb.Backspace))

	// A pod is selected and deleted with the keyboard; its replacement is explained.
	p.do(chromedp.Focus("canvas"), chromedp.KeyEvent(kb.ArrowRight))
	p.shows("aside", "node-0")
	p.do(chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.Enter))
	p.shows("aside", "ReplicaSet/")
	var name string
	p.do(chromedp.Text("aside h2", &name))
	p.press("Delete pod")
	p.until(fmt.Sprintf(`!document.querySelector("aside").innerText.includes(%q)`, name))
	p.until(ready + ` === 42`)
	p.do(chromedp.Evaluate(fmt.Sprintf(`location.hash = "why?resource=pods&namespace=default&name=%s"`, name), nil))
	p.shows(".chain", "removed")
	if text := strings.ToLower(p.text()); !strings.Contains(text, "chrom") {
		t.Errorf("the browser is not named as the cause of the deletion:\n%s", text)
	}
	p.save("why")
	p.do(chromedp.Evaluate(`location.hash = "why?resource=pods&namespace=default&name=huge"`, nil))
	p.shows(".reasons", "Insufficient cpu")
	p.do(chromedp.Evaluate(`location.hash = "why?resource=pods&namespace=default&name=nobody"`, nil))
	p.shows("[role=alert]", "nobody")

	p.do(chromedp.Click(`nav a[href="#timeline"]`))
	p.until(`/replicaset-controller \d+/.test(document.querySelector("canvas")?.getAttribute("aria-label"))`)
	p.do(chromedp.Focus("canvas"), chromedp.KeyEvent(kb.Enter), chromedp.KeyEvent("p"))
	p.shows("aside", "Written by")
	p.save("timeline")

	p.do(chromedp.Click(`nav a[href="#rollouts"]`), chromedp.Click(`//li/button[contains(., "Deployment/web")]`, chromedp.BySearch))
	p.shows("caption", "Replica sets")
	c.run("", "kubectl", "set", "image", "deploy/web", "c=nginx:2")
	p.until(`document.querySelectorAll(".sets tbody tr").length === 2`)
	p.shows(".u-legend", "old")
	p.shows(".scroll p", "30 desired, 30 exist, 30 updated, 30 ready, 30 available")
	p.save("rollouts")
	p.do(scheme(true))
	p.save("rollouts-dark")
	p.do(chromedp.KeyEvent("1"))
	p.until(ready + ` === 42`)
	p.save("cluster-dark")
	p.do(scheme(false), chromedp.EmulateViewport(1920, 1080))
	p.save("cluster-1920")
}

// The page has the controls of "minikcm clock"; on a real clock there are none.
func TestTime(t *testing.T) {
	c := start(t, "--clock", "virtual")
	p := c.open(1280, 720)
	p.shows("header button", "Pause")
	p.press("Pause")
	p.shows("header button", "Resume")
	if state := c.run("", "kubectl", "get", "--raw", "/minikcm/v1/clock"); !strings.Contains(state, `"paused":true`) {
		t.Errorf("after Pause, the clock is %s", state)
	}
	before := p.value(`Date.parse(document.querySelector("time").textContent.replace(" ", "T") + "Z")`)
	p.press("+1 h")
	p.until(fmt.Sprintf(`Date.parse(document.querySelector("time").textContent.replace(" ", "T") + "Z") - %f >= 3599000`, before))
	p.press("Step")
	p.do(chromedp.Focus("canvas"), chromedp.KeyEvent(" "))
	p.shows("header button", "Pause")
	c.run("", "clock", "speed", "10")
	p.until(`document.querySelector(".clock select").value === "10"`)

	still := start(t)
	q := still.open(1280, 720)
	q.shows(".clock", "real time")
	q.until(`document.querySelectorAll(".clock button").length === 0`)
}

// A page survives a reset of the cluster, which forgets the history that it watched from.
func TestReset(t *testing.T) {
	c := start(t, "--nodes", "2")
	p := c.open(1280, 720)
	c.deploy("web", 10)
	p.until(ready + ` === 10`)
	c.run("", "reset")
	p.until(ready + ` === 0 && document.querySelector("[role=status]")?.textContent === "live"`)
	c.deploy("web", 5)
	p.until(ready + ` === 5`)
}

// Without a session, the page says what to do.
func TestNoSession(t *testing.T) {
	c := start(t)
	p := c.open(1280, 720)
	var address string
	p.do(chromedp.Evaluate(`location.origin`, &address))
	q := &page{t: t}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(browserPath()), chromedp.NoSandbox)
	allocator, stopAllocator := chromedp.NewExecAllocator(t.Context(), opts...)
	defer stopAllocator()
	ctx, stop := chromedp.NewContext(allocator)
	defer stop()
	q.ctx = ctx
	q.do(chromedp.Navigate(address + "/ui/"))
	q.shows("[role=alert]", "minikcm ui")
}
