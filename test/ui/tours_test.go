package ui

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// A tour in the page sees what the learner did, step by step, and stays in other views.
func TestTour(t *testing.T) {
	c := start(t, "--nodes", "3", "--clock", "virtual", "--seed", "1")
	p := c.open(1440, 900)
	p.press("Tours")
	p.press("A machine stops, and minutes later its pods run on other nodes")
	p.shows(".tour", "step 1 of 6")
	p.shows(".tour", "Six pods of a Deployment run on three nodes.")
	p.until(`document.querySelectorAll(".tour .open").length === 2`)
	p.until(`document.querySelector(".tour .buttons .primary") === null`)
	c.run("", "kubectl", "create", "deployment", "web", "--image=nginx", "--replicas=6")
	p.until(`document.querySelectorAll(".tour .done").length === 2`)
	p.until(`document.querySelector(".tour .buttons .primary")?.innerText === "Next"`)
	p.press("Next")
	p.shows(".tour", "step 2 of 6")
	p.do(chromedp.Click(`nav a[href="#loop"]`))
	p.shows(".tour", "step 2 of 6")
	p.until(`document.querySelectorAll(".tour .open").length === 1`)
	c.run("", "fault", "node", "crash", "node-0")
	p.until(`document.querySelectorAll(".tour .done").length === 1`)
	p.save("tour")
	p.press("Next")
	p.shows(".tour", "step 3 of 6")
	p.until(`document.querySelectorAll(".tour .open").length === 1`)
	c.run("", "clock", "advance", "2m")
	p.until(`document.querySelectorAll(".tour .done").length === 1`)

	// It is where it was after the page is loaded again, and its steps can be read again.
	p.do(chromedp.Reload())
	p.shows(".tour", "step 3 of 6")
	p.press("Back")
	p.shows(".tour", "step 2 of 6")
	p.do(chromedp.Click(`header [lang=zh]`))
	p.shows(".tour", "第 2 步，共 6 步")
	p.shows(".tour", "node-0 的机器停止工作")
	p.do(chromedp.Click(`.tour .close`))
	p.until(`document.querySelector(".tour") === null`)
}

// What a tour creates is opened in the form that creates objects.
func TestTourForm(t *testing.T) {
	c := start(t, "--nodes", "3", "--clock", "virtual", "--seed", "1")
	p := c.open(390, 844)
	p.do(chromedp.Evaluate(`location.hash = "cluster?tour=rollout"`, nil))
	p.shows(".tour", "step 1 of 7")
	if width := p.value(`document.documentElement.scrollWidth`); width > 390 {
		t.Errorf("with a tour, the page is %v wide", width)
	}
	p.save("tour-narrow")
	p.press("Open it in the form")
	p.until(`document.querySelector("dialog textarea").value.includes("progressDeadlineSeconds: 60")`)
	p.do(chromedp.Click(`//dialog//button[normalize-space()="Try it"]`, chromedp.BySearch))
	p.shows("dialog .card", "would be created")
	p.do(chromedp.Click(`//dialog//button[normalize-space()="Apply"]`, chromedp.BySearch))
	p.shows("dialog .card", "created")
	p.do(chromedp.Click(`dialog .close`))
	p.until(`document.querySelectorAll(".tour .done").length === 2`)
}
