package scenarios

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"minikcm.dev/minikcm/internal/golden"
	"minikcm.dev/minikcm/internal/scenario/spec"
	"minikcm.dev/minikcm/scenarios/fault"
)

// tourPage returns the page of a tour: its texts, and what is done after each of them.
func tourPage(tour *Scenario) string {
	var page strings.Builder
	fmt.Fprintf(&page, "<!-- Generated from the tour; go test ./scenarios -run TestTourPages -update rewrites it. -->\n\n# %s\n\n%s.\n\n```sh\nminikcm demo %s\n```\n",
		tour.Metadata.Name, tour.Spec.Description, tour.Metadata.Name)
	if len(Examples(tour)) > 0 {
		fmt.Fprintf(&page, "\nThe tour runs programs beside the cluster. [This page](../examples/%s.md) explains them step by step, to type along.\n", tour.Metadata.Name)
	}
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
		if line := programLine(step); line != "" {
			open("sh")
			fmt.Fprintln(&page, line)
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

// programLine returns what to type for a step that runs a program; empty for any other step, and
// for one whose name says more.
func programLine(step *spec.Step) string {
	if step.Name != "" && !step.Background {
		return ""
	}
	line := ""
	switch value := step.Value.(type) {
	case *Kubectl:
		line = commandLine(value.Args)
	case *Script:
		line = value.Run
	case *Example:
		line = "minikcm example " + value.Program
	case *Parallel:
		for i := range *value {
			one := programLine(&(*value)[i])
			if one == "" {
				return ""
			}
			line += one + " & "
		}
		line += "wait"
	default:
		return ""
	}
	if step.Background {
		line += " &"
	}
	return line
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
		if strings.ContainsAny(arg, " ?&[]!()*{}\"") {
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
	if _, err := Tour("list-wach", nil); err == nil || !strings.Contains(err.Error(), "did you mean list-watch?") {
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

// What a tour quotes from an example, indented by four spaces, is in its source.
func TestToursQuoteExamples(t *testing.T) {
	t.Parallel()
	all, err := Tours()
	if err != nil {
		t.Fatal(err)
	}
	for _, tour := range all {
		sources := ""
		for _, name := range Examples(tour) {
			files, err := filepath.Glob("../examples/" + name + "/*.go")
			if err != nil || len(files) == 0 {
				t.Fatalf("%s runs %s, which is not there: %v", tour.Metadata.Name, name, err)
			}
			for _, file := range files {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				sources += trimmed(string(text))
			}
		}
		for i := range tour.Spec.Steps {
			for _, quote := range quotes(tour.Spec.Steps[i].Say) {
				if !strings.Contains(sources, trimmed(quote)) {
					t.Errorf("%s quotes what is in no example:\n%s", tour.Metadata.Name, quote)
				}
			}
		}
	}
}

// quotes returns the paragraphs of a text that are indented, but for commands to type.
func quotes(text string) []string {
	var all []string
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		if strings.HasPrefix(paragraph, "    ") && !strings.HasPrefix(paragraph, "    go ") {
			all = append(all, paragraph)
		}
	}
	return all
}

// trimmed returns the lines of a text without their indentation and the signs of comments.
func trimmed(text string) string {
	var all strings.Builder
	for line := range strings.Lines(text) {
		all.WriteString(strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "//")) + "\n")
	}
	return all.String()
}
