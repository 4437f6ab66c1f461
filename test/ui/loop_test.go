package ui

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// The loop of a controller is shown as it runs: what its handlers get, which keys wait, what it
// writes.
func TestLoop(t *testing.T) {
	c := start(t, "--nodes", "3", "--clock", "virtual", "--seed", "1")
	p := c.open(1280, 720)
	p.do(chromedp.KeyEvent("6"))
	p.shows(".loop", "The controller has done nothing")
	c.deploy("web", 4)
	p.shows(".rows", "default/web-")
	p.until(`[...document.querySelectorAll(".rows tr")].some(r => /create Pod\/web-.* is revision \d+/.test(r.innerText))`)
	p.until(`[...document.querySelectorAll(".station tr")].some(r => /^Pod\s+0\s+0\s+4$/.test(r.innerText.trim()))`)

	// A paused controller lets its keys wait.
	p.choose(`form[aria-label="Break the controller"] select[aria-label="Fault"]`, "pause")
	p.choose(`form[aria-label="Break the controller"] select[aria-label="Duration"]`, "1h")
	p.do(chromedp.Click(`form[aria-label="Break the controller"] button`))
	p.do(chromedp.Evaluate(`location.hash = "faults"`, nil))
	p.shows("tbody tr", "Active")
	p.do(chromedp.Evaluate(`location.hash = "loop"`, nil))
	c.deploy("api", 3)
	p.shows(".station .keys:not(.delayed)", "default/api-")
	p.shows(".rows", "is held back by a fault")
	p.save("loop")
	c.run("", "fault", "stop", "--all")
	p.until(`document.querySelectorAll(".station .keys:not(.delayed) li").length === 0`)
	p.until(`[...document.querySelectorAll(".rows tr")].some(r => /create Pod\/api-.* is revision \d+/.test(r.innerText))`)
	p.do(scheme(true))
	p.save("loop-dark")
	p.do(chromedp.Evaluate(`location.hash = "loop?controller=garbage-collector-controller"`, nil))
	p.until(`document.querySelector(".loop select").value === "garbage-collector-controller"`)
}

// While time and work are paused, a step does one piece of work, which is named before, and nothing
// follows from a write without steps.
func TestStepWork(t *testing.T) {
	c := start(t, "--nodes", "3", "--clock", "virtual", "--seed", "1")
	c.deploy("web", 2)
	p := c.open(1280, 720)
	p.until(ready + ` === 2`)
	p.do(chromedp.KeyEvent("6"))
	p.press("Pause time and work")
	const next = `[aria-label="Next step"]`
	p.shows(next, "wait")
	p.until(`document.querySelector('[aria-label="Next step"]') !== null`)
	// What was under way ends by steps, without a timer.
	for range 100 {
		if text := c.run("", "clock"); !strings.Contains(text, "waiting for steps") {
			break
		}
		c.run("", "clock", "step")
	}
	c.run("", "kubectl", "scale", "deploy/web", "--replicas=3")
	p.shows(next, "Do deployment-controller default/web")
	if pods := c.run("", "kubectl", "get", "pods", "-o", "name"); strings.Count(pods, "pod/") != 2 {
		t.Errorf("without a step, there are the pods %s", pods)
	}
	p.do(chromedp.Click(next + " button"))
	// The reconcile records an Event while the ReplicaSet's is delivered: either may be first.
	p.until(`!document.querySelector('[aria-label="Next step"]').innerText.includes("deployment-controller default/web")`)
	p.until(`/Do (replicaset-controller default\/web|events default\/web)/.test(document.querySelector('[aria-label="Next step"]').innerText)`)
	p.save("loop-steps")
	for range 100 {
		if text := c.run("", "clock"); !strings.Contains(text, "waiting for steps") {
			break
		}
		c.run("", "clock", "step")
	}
	if pods := c.run("", "kubectl", "get", "pods", "-o", "name"); strings.Count(pods, "pod/") != 3 {
		t.Errorf("after all steps, there are the pods %s", pods)
	}
	p.press("Resume")
	p.shows("header button", "Pause")
	p.shows(".loop button", "Pause time and work")
}

// The debugger holds the work at each stage, says why, follows a write through the controllers, runs to breakpoints, and lets
// all go on when the page goes.
func TestDebugger(t *testing.T) {
	c := start(t, "--nodes", "3", "--clock", "virtual", "--seed", "1")
	c.deploy("web", 1)
	p := c.open(1440, 900)
	p.until(ready + ` === 1`)
	p.do(chromedp.KeyEvent("6"))
	p.press("Debug the loops")
	p.shows(".debugger", "Nothing waits")
	p.save("debugger-idle")
	c.run("", "kubectl", "scale", "deploy/web", "--replicas=3")
	const stop = `.debugger [aria-label="Next stop"]`
	p.shows(stop, "The API server has sent the event that Deployment web was modified")
	p.save("debugger-event")
	here := func(stage string) string {
		return `document.querySelector('.stages [aria-current] h3')?.innerText === "` + stage + `"`
	}
	for i, stage := range []string{"Informer", "Handler", "Work queue", "Reconcile"} {
		p.press("Step") // of the page's top, which steps here, too
		p.until(here(stage))
		p.until(fmt.Sprintf(`document.querySelectorAll('.trail tr.followed').length > %d`, i+1))
	}
	p.shows(stop, "web wants 3 replicas, and its ReplicaSets want 1: update ReplicaSet")
	p.save("debugger-decision")
	p.do(chromedp.SendKeys(`form[aria-label="Breakpoint"] input[aria-label="Kind"]`, "Pod"))
	p.choose(`form[aria-label="Breakpoint"] select[aria-label="Verb"]`, "create")
	p.press("Run to it")
	p.shows(".debugger", "The breakpoint is reached")
	p.shows(stop, "replicaset-controller sends the write to the API server: create Pod, since web-")
	p.shows(".trail .followed", "create 2 Pods")
	p.save("debugger-write")
	p.do(scheme(true))
	p.save("debugger-write-dark")
	p.do(chromedp.EmulateViewport(390, 844))
	p.save("debugger-narrow-dark")
	p.do(scheme(false))
	p.save("debugger-narrow")
	if pods := c.run("", "kubectl", "get", "pods", "-o", "name"); strings.Count(pods, "pod/") != 1 {
		t.Errorf("before the write, there are the pods %s", pods)
	}
	p.do(chromedp.Navigate("about:blank")) // the page goes, and what waits goes on
	c.run("", "kubectl", "wait", "deploy/web", "--for=jsonpath={.status.availableReplicas}=3", "--timeout=60s")
}
