package scenarios

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/internal/scenario/spec"
)

// ForEach does steps for each value of a list, or for each matching object.
type ForEach struct {
	// Var is the variable that is set; default ITEM.
	Var string `yaml:"var"`
	// In are the values.
	In []string `yaml:"in"`
	// Target is a kind: the values are the names of its objects, in alphabetical order.
	Target    string    `yaml:"target"`
	Namespace string    `yaml:"namespace"`
	Selector  string    `yaml:"selector"`
	Steps     spec.Body `yaml:"steps"`
}

func (f *ForEach) check(c *spec.Checker) {
	if f.Var == "" {
		f.Var = "ITEM"
	}
	switch {
	case !spec.IsVariableName(f.Var):
		c.Problem("var", "%q is not a variable's name", f.Var)
	case (f.Target == "") == (len(f.In) == 0):
		c.Problem("", "needs one of in (a list of values) and target (a kind of objects)")
	case f.Target != "":
		c.Check("target", spec.OfKind(f.Target))
		c.Check("selector", spec.LabelSelector(f.Selector))
	}
	first := "0"
	for _, value := range f.In {
		first = value
		c.Body("steps", &f.Steps, map[string]string{f.Var: value})
	}
	if len(f.In) == 0 {
		c.Body("steps", &f.Steps, map[string]string{f.Var: first})
	}
}

func (f *ForEach) title() string {
	if f.Target != "" {
		return strings.TrimSuffix("for each of "+f.Target+" "+f.Selector, " ")
	}
	return "for each of " + strings.Join(f.In, ", ")
}

func (f *ForEach) steps() [][]spec.Step { return [][]spec.Step{f.Steps.Steps} }

func (b *branch) forEach(ctx context.Context, f *ForEach) error {
	values := f.In
	if f.Target != "" {
		q, _, err := b.run.kinds.Target(f.Target, f.Namespace)
		if err != nil {
			return err
		}
		list, err := b.run.dynamic.Resource(q.Resource).Namespace(q.Namespace).List(ctx, metav1.ListOptions{LabelSelector: f.Selector})
		if err != nil {
			return fmt.Errorf("listing %s: %w", f.Target, err)
		}
		values = nil
		for i := range list.Items {
			values = append(values, list.Items[i].GetName())
		}
		slices.Sort(values)
	}
	for _, value := range values {
		steps, err := f.Steps.With(map[string]string{f.Var: value})
		if err != nil {
			return err
		}
		if err := b.steps(ctx, steps); err != nil {
			return fmt.Errorf("for %s: %w", value, err)
		}
	}
	return nil
}
