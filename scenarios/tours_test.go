package scenarios

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"minikcm.dev/minikcm/scenarios/fault"
	"minikcm.dev/minikcm/scenarios/spec"
	"minikcm.dev/minikcm/test/golden"
)

// tourPage returns the page of a tour: its texts, and what is done after each of them.
func tourPage(tour *Scenario) string {
	var page strings.Builder
	fmt.Fprintf(&page, "<!-- Generated from the tour; go test ./scenarios -run TestTourPages -update rewrites it. -->\n\n# %s\n\n%s.\n\n```sh\nminikcm demo %s\n```\n",
		tour.Metadata.Name, tour.Spec.Description, tour.Metadata.Name)
	block := ""
	open := func(kind string) {
		if block == kind {
			return
		}
		if block == "sh" {
			page.WriteString("```\n")
		}
		page.WriteString("\n")
		if block = kind; kind == "sh" {
			page.WriteString("```sh\n")
		}
	}
	for i := range tour.Spec.Steps {
		step := &tour.Spec.Steps[i]
		if step.Say != "" {
			open("text")
			page.WriteString(step.Say)
			block = "said"
		}
		if k, ok := step.Value.(*Kubectl); ok && step.Name == "" {
			open("sh")
			fmt.Fprintln(&page, commandLine(k.Args))
			continue
		}
		open("steps")
		fmt.Fprintf(&page, "- %s\n", strings.ReplaceAll(step.Title(), "*", `\*`))
		if menu := menuOf(step); menu != "" {
			fmt.Fprintf(&page, "  (in the [live page](../ui.md#faults) of your own cluster: %s)\n", menu)
		}
	}
	open("end")
	return strings.TrimRight(page.String(), "\n") + "\n"
}

// menuOf says where the live page has the menu that breaks what a step breaks; empty for a step
// that breaks nothing.
func menuOf(step *spec.Step) string {
	switch value := step.Value.(type) {
	case *Kill:
		if value.Node != "" {
			return "select " + value.Node + " in the Cluster view, and break it with “Crash (the machine goes down)”"
		}
		return "select a pod in the Cluster view, and break it with “Kill (without grace)”"
	case *fault.Fault:
		if value.Controllers != nil && value.Controllers.Action == fault.ControllerCrash {
			return "choose a controller in the Loop view, and break it with “Crash and restart it”"
		}
		return "the Faults view has forms for nodes and the API server"
	}
	return ""
}

// commandLine quotes the arguments that a shell would change.
func commandLine(args []string) string {
	line := "kubectl"
	for _, arg := range args {
		if strings.ContainsAny(arg, " ?&[]!()*") {
			arg = "'" + arg + "'"
		}
		line += " " + arg
	}
	return line
}

// Each tour has a page, and something to say.
func TestTourPages(t *testing.T) {
	t.Parallel()
	all, err := Tours()
	if err != nil {
		t.Fatal(err)
	}
	for _, tour := range all {
		if !speaks(tour) || tour.Spec.Description == "" {
			t.Errorf("%s says nothing", tour.Metadata.Name)
		}
		golden.Compare(t, "../docs/tours/"+tour.Metadata.Name+".md", tourPage(tour))
	}
	if _, err := Tour("list-wach"); err == nil || !strings.Contains(err.Error(), "did you mean list-watch?") {
		t.Errorf("a mistyped name is answered with %v", err)
	}
}

const spoken = header + `  steps:
    - sleep: 1m
    - say: first
      sleep: 1m
    - sleep: 1m
    - say: second
      sleep: 1m
`

// Texts are shown before their steps, and virtual time stands still meanwhile.
func TestPresent(t *testing.T) {
	t.Parallel()
	var shown []string
	tr := &transcript{}
	failure := errors.New("enough")
	found, err := Parse("scenario.yaml", []byte(spoken), nil)
	if err != nil {
		t.Fatal(err)
	}
	result, err := Run(t.Context(), found[0], Options{Progress: tr, Present: func(_ context.Context, text string) error {
		if shown = append(shown, text); text == "second" {
			return failure
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(shown, " "); got != "first second" || len(result.Steps) != 3 || !errors.Is(result.Failure, failure) {
		t.Errorf("shown are %s before %d steps: %v", got, len(result.Steps), result.Failure)
	}
	if result.Cluster.Minutes() != 3 {
		t.Errorf("%v passed in the cluster", result.Cluster)
	}
}
