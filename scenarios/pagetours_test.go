package scenarios

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"minikcm.dev/minikcm/internal/golden"
	"minikcm.dev/minikcm/internal/scenario/check"
	"minikcm.dev/minikcm/internal/scenario/spec"
	"minikcm.dev/minikcm/scenarios/fault"
)

// pageTours are the tours that the live page has: those whose steps a learner can do in a cluster
// of their own, without programs beside it.
var pageTours = []string{"list-watch", "rollout", "node-dies", "leader-election", "garbage-collection", "autoscaler"}

// pageTour is a tour as the live page reads it.
type pageTour struct {
	Name        string            `json:"name"`
	Description map[string]string `json:"description"`
	Steps       []pageStep        `json:"steps"`
}

type pageStep struct {
	Say map[string]string `json:"say"`
	// Do lists the learner's actions, and what follows from them, in this order.
	Do []pageDo `json:"do,omitempty"`
}

// pageDo is a command to type or an object to create, a check of what follows from it, or both.
type pageDo struct {
	Command string     `json:"command,omitempty"`
	Objects []any      `json:"objects,omitempty"`
	Check   *pageCheck `json:"check,omitempty"`
}

// pageCheck is a state that the page waits for. For is as in a wait, or changed (since the step was
// opened), killed (a pod that was there when the step was opened is gone), or fault (one with this
// part and action was injected since then).
type pageCheck struct {
	Target   string `json:"target"`
	Selector string `json:"selector,omitempty"`
	For      string `json:"for"`
}

// TestPageTours writes the tours for the live page, from the texts that the terminal shows.
func TestPageTours(t *testing.T) {
	t.Parallel()
	var tours []pageTour
	for _, name := range pageTours {
		tour, err := Tour(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		one := pageTour{Name: name, Description: map[string]string{}}
		for _, language := range Languages() {
			in, err := InLanguage(tour, language)
			if err != nil {
				t.Fatal(err)
			}
			one.Description[language] = in.Spec.Description
			at := -1
			for i := range in.Spec.Steps {
				step := &in.Spec.Steps[i]
				if step.Say != "" {
					if at++; at == len(one.Steps) {
						one.Steps = append(one.Steps, pageStep{Say: map[string]string{}})
					}
					one.Steps[at].Say[language] = strings.TrimSpace(step.Say)
				}
				if language == "en" {
					do, err := doneBy(step)
					if err != nil {
						t.Fatalf("%s: %v", name, err)
					}
					one.Steps[at].Do = append(one.Steps[at].Do, do...)
				}
			}
		}
		tours = append(tours, one)
	}
	data, err := json.MarshalIndent(tours, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "../ui/bundle/tours.json", append(data, '\n'))
}

// doneBy returns what a learner does in place of a step.
func doneBy(step *spec.Step) ([]pageDo, error) {
	switch value := step.Value.(type) {
	case *Kubectl:
		return []pageDo{{Command: commandLine(value.Args), Check: afterKubectl(value.Args)}}, nil
	case *check.Wait:
		return []pageDo{{Check: &pageCheck{value.Target, value.Selector, value.For}}}, nil
	case *spec.Expect:
		var all []pageDo
		for _, c := range value.Counts {
			all = append(all, pageDo{Check: &pageCheck{c.Target, c.Selector, fmt.Sprintf("count=%d", *c.Equals)}})
		}
		return all, nil
	case *Kill:
		if value.Node != "" {
			return []pageDo{{Command: "minikcm fault node crash " + value.Node, Check: &pageCheck{"nodes", "", "fault=crash"}}}, nil
		}
		command := "minikcm fault pod kill -l " + value.Pods.Selector
		if value.Pods.Count > 1 {
			command += fmt.Sprintf(" --count %d", value.Pods.Count)
		}
		return []pageDo{{Command: command, Check: &pageCheck{"pods", value.Pods.Selector, "killed"}}}, nil
	case *fault.Fault:
		if c := value.Controllers; c != nil {
			return []pageDo{{Command: fmt.Sprintf("minikcm fault controller %s %s --for %v", c.Action, strings.Join(c.Names, " "), value.For), Check: &pageCheck{"controllers", "", "fault=" + string(c.Action)}}}, nil
		}
		return []pageDo{{Command: "minikcm fault apiserver " + string(value.APIServer.Action), Check: &pageCheck{"apiserver", "", "fault=" + string(value.APIServer.Action)}}}, nil
	case *Patch:
		patch, err := json.Marshal(value.Patch)
		return []pageDo{{Command: fmt.Sprintf("kubectl patch %s -p '%s'", value.Target, patch), Check: &pageCheck{value.Target, "", "changed"}}}, err
	case *Apply:
		var objects []any
		var checks []pageDo
		for _, o := range value.Objects {
			objects = append(objects, o.Object)
			checks = append(checks, pageDo{Check: &pageCheck{o.Title(), "", "create"}})
		}
		return append([]pageDo{{Objects: objects}}, checks...), nil
	case *Delete:
		return []pageDo{{Command: "kubectl delete " + value.Target, Check: &pageCheck{value.Target, "", "delete"}}}, nil
	case *spec.Duration:
		if !strings.HasPrefix(step.Title(), "advance") {
			return nil, nil // a learner's time passes by itself
		}
		return []pageDo{{Command: fmt.Sprintf("minikcm clock advance %v", *value)}}, nil
	case *Parallel:
		return doneByAll(*value)
	case *ForEach:
		var all []pageDo
		for _, name := range value.In {
			steps, err := value.Steps.With(map[string]string{value.Var: name})
			if err != nil {
				return nil, err
			}
			do, err := doneByAll(steps)
			if err != nil {
				return nil, err
			}
			all = append(all, do...)
		}
		return all, nil
	}
	return nil, fmt.Errorf("no learner can do the step %T", step.Value)
}

func doneByAll(steps []spec.Step) (all []pageDo, err error) {
	for i := range steps {
		do, err := doneBy(&steps[i])
		if err != nil {
			return nil, err
		}
		all = append(all, do...)
	}
	return all, nil
}

// afterKubectl returns what a command of kubectl leads to; nil for one that only reads.
func afterKubectl(args []string) *pageCheck {
	target := func(i int) string { return args[i] + "/" + args[i+1] }
	switch {
	case args[0] == "create":
		return &pageCheck{target(1), "", "create"}
	case args[0] == "delete" && !slices.Contains(args, "--cascade=foreground"):
		return &pageCheck{target(1), "", "delete"}
	case args[0] == "rollout" && args[1] == "undo":
		return &pageCheck{args[2], "", "changed"}
	}
	return nil
}

// Each tour has all its texts in each language.
func TestToursInLanguages(t *testing.T) {
	t.Parallel()
	all, err := Tours()
	if err != nil {
		t.Fatal(err)
	}
	for _, language := range Languages()[1:] {
		texts, err := textsIn(language)
		if err != nil {
			t.Fatal(err)
		}
		for _, tour := range all {
			says := 0
			for i := range tour.Spec.Steps {
				if tour.Spec.Steps[i].Say != "" {
					says++
				}
			}
			text := texts[tour.Metadata.Name]
			if text.Description == "" || len(text.Says) != says {
				t.Errorf("%s in %s: %q and %d texts, want %d", tour.Metadata.Name, language, text.Description, len(text.Says), says)
			}
			delete(texts, tour.Metadata.Name)
		}
		if len(texts) > 0 {
			t.Errorf("%s has texts of no tour: %v", language, texts)
		}
	}
	if _, err := InLanguage(all[0], "xx"); err == nil || !strings.Contains(err.Error(), "[en zh]") {
		t.Errorf("a language without a catalog is answered with %v", err)
	}
}
