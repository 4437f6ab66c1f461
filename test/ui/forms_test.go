package ui

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// A form makes the objects that its commands make, and adds nodes.
func TestForms(t *testing.T) {
	c := start(t, "--nodes", "3", "--clock", "virtual", "--seed", "1")
	p := c.open(1440, 900)
	p.press("+ Create")
	p.fill("dialog input[name=name]", `"front"`)
	p.fill("dialog input[name=replicas]", `"2"`)
	p.shows("dialog .command", "kubectl create deployment front --image=nginx:1.27 --replicas=2 --port=80")
	p.save("create-form")
	p.press("Try it")
	p.shows("dialog .card", "would be created")
	p.press("Apply")
	p.shows(`dialog [aria-label="What was done"]`, "Service/front created")
	c.run("", "kubectl", "create", "namespace", "other")
	p.fill("dialog input[name=namespace]", `"other"`)
	var commands []string
	p.do(chromedp.Evaluate(`[...document.querySelectorAll("dialog .command code")].map(e => e.textContent)`, &commands))
	for _, command := range commands {
		c.run("", "kubectl", strings.Fields(command)[1:]...)
	}
	for _, fields := range []string{"deployment/front -o=jsonpath={.metadata.labels}{.spec}", "service/front -o=jsonpath={.metadata.labels}{.spec.ports}{.spec.selector}{.spec.type}"} {
		get := append([]string{"get"}, strings.Fields(fields)...)
		page, kubectl := c.run("", "kubectl", get...), c.run("", "kubectl", append(get, "-n", "other")...)
		if page != kubectl {
			t.Errorf("%s: the form has made\n%s\nand the commands\n%s", fields, page, kubectl)
		}
	}

	p.goTo("cluster")
	p.press("Add nodes")
	p.fill("dialog input[name=count]", `"2"`)
	p.shows("dialog .command", "kubectl scale nodepool/node --replicas=5")
	p.press("Try it")
	p.shows("dialog .card", "would be changed")
	p.press("Apply")
	p.shows(".legend", "5 nodes")
	p.shows("dialog .command", "--replicas=7") // two more
	p.fill("dialog input[name=pool]", `"spread"`)
	p.fill("dialog input[name=zones]", `"east, west"`)
	p.fill("dialog input[name=cpu]", `"4"`)
	p.press("Try it")
	p.shows("dialog .card", "would be created")
	p.press("Apply")
	p.shows(".legend", "7 nodes")
	for i, zone := range []string{"east", "west"} {
		want := zone + " 4"
		if got := c.run("", "kubectl", "get", "node", fmt.Sprintf("spread-%d", i), "-o", `jsonpath={.metadata.labels.topology\.kubernetes\.io/zone} {.status.capacity.cpu}`); got != want {
			t.Errorf("node spread-%d has the zone and CPU %q, want %q", i, got, want)
		}
	}
}
