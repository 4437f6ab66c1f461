package check

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubectl/pkg/polymorphichelpers"

	"minikcm.dev/minikcm/internal/scenario/spec"
)

// FollowWait follows the objects of a wait, as Follow does for an Expect.
func (c *Cluster) FollowWait(ctx context.Context, w *Wait, changed func()) (*Expectation, error) {
	kind, name, err := spec.SplitTarget(w.Target)
	if err != nil {
		return nil, err
	}
	q, group, err := c.Kinds.Target(kind, w.Namespace)
	if err != nil {
		return nil, err
	}
	q.Name, q.Selector = name, w.Selector
	f, err := c.awaited(w.Parsed(), group, q)
	if err != nil {
		return nil, err
	}
	x := &Expectation{known: c.Known}
	view, err := c.Follower.Follow(ctx, q, &x.mu, changed)
	if err != nil {
		return nil, err
	}
	f.lacking = shortageOf(q)
	x.clauses = []clause{func(ctx context.Context) error { return f.all(ctx, w, view) }}
	return x, nil
}

// awaited is the condition of a wait.
type awaited struct {
	*For
	cluster *Cluster
	// about names the awaited object while it does not exist.
	about *unstructured.Unstructured
	// lacking describes the missing objects while there are too few.
	lacking *shortage
	// expression is set for ForCEL, rollout for ForRollout.
	expression *Expression
	rollout    polymorphichelpers.StatusViewer
}

func (c *Cluster) awaited(f *For, kind schema.GroupKind, q Query) (*awaited, error) {
	a := &awaited{For: f, cluster: c, about: missing(kind.WithVersion(""), q.Namespace, q.Name)}
	var err error
	switch f.Kind {
	case ForCEL:
		a.expression, err = Compile(f.Name, []string{"object"})
	case ForRollout:
		a.rollout, err = polymorphichelpers.StatusViewerFor(kind)
	}
	return a, err
}

func (a *awaited) all(ctx context.Context, w *Wait, view *View) error {
	if a.Kind == ForCount {
		return a.counts(len(view.objects), w, view)
	}
	list := view.List()
	switch {
	case len(list) > 0:
	case a.Kind == ForDelete:
		return nil
	case w.Selector != "":
		return &Differs{Text: fmt.Sprintf("no %s match %s", w.Target, w.Selector), missing: a.lacking}
	default:
		return &Differs{Text: w.Target + " does not exist", Objects: []*unstructured.Unstructured{a.about}}
	}
	for _, o := range list {
		if err := a.holds(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

func (a *awaited) counts(n int, w *Wait, view *View) error {
	holds := map[string]bool{"=": n == a.Count, ">=": n >= a.Count, "<=": n <= a.Count}[a.Operator]
	if holds {
		return nil
	}
	d := &Differs{Text: fmt.Sprintf("there are %d %s", n, strings.TrimSuffix(w.Target+" "+w.Selector, " "))}
	if n < a.Count {
		d.missing = a.lacking
		return d
	}
	d.surplus, d.numeric = true, true
	d.more = func(d *Differs) { d.blame(view.List()) }
	return d
}

// holds returns a *Differs unless the existing object meets the condition.
func (a *awaited) holds(ctx context.Context, o *unstructured.Unstructured) error {
	about := []*unstructured.Unstructured{o}
	switch a.Kind {
	case ForCreate:
		return nil
	case ForDelete:
		return &Differs{Text: TitleOf(o) + " still exists", Objects: about, surplus: true}
	case ForCondition:
		return a.condition(o)
	case ForRollout:
		message, done, err := a.rollout.Status(o, 0)
		switch {
		case err != nil: // which it gives up with
			return &Differs{Text: fmt.Sprintf("%s: %v", TitleOf(o), err), Objects: about, final: true}
		case !done:
			return &Differs{Text: fmt.Sprintf("%s: %s", TitleOf(o), strings.TrimSpace(message)), Objects: about}
		}
		return nil
	case ForCEL:
		world, err := a.cluster.World(ctx, a.expression.Metrics)
		if err != nil {
			return err
		}
		return a.expression.Holds(world, map[string]any{"object": o.Object})
	}
	var out bytes.Buffer
	if err := a.Path.Execute(&out, o.Object); err != nil {
		return fmt.Errorf("reading %s of %s: %w", a.Name, TitleOf(o), err)
	}
	got := out.String()
	if (a.AnyValue && got != "") || (!a.AnyValue && got == a.Value) {
		return nil
	}
	return &Differs{Text: fmt.Sprintf("%s of %s is %q", a.Name, TitleOf(o), got), Objects: about}
}

func (a *awaited) condition(o *unstructured.Unstructured) error {
	about := []*unstructured.Unstructured{o}
	conditions, _, err := unstructured.NestedSlice(o.Object, "status", "conditions")
	if err != nil {
		return errors.Join(fmt.Errorf("reading the conditions of %s", TitleOf(o)), err)
	}
	observed, reported, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration")
	if reported && observed < o.GetGeneration() {
		return &Differs{Text: fmt.Sprintf("the status of %s is of generation %d, and it is at %d", TitleOf(o), observed, o.GetGeneration()), Objects: about}
	}
	for _, item := range conditions {
		condition, ok := item.(map[string]any)
		if !ok || !strings.EqualFold(fmt.Sprint(condition["type"]), a.Name) {
			continue
		}
		if strings.EqualFold(fmt.Sprint(condition["status"]), a.Value) {
			return nil
		}
		return &Differs{Text: fmt.Sprintf("condition %s of %s is %v (%v: %v)", a.Name, TitleOf(o), condition["status"], condition["reason"], condition["message"]), Objects: about}
	}
	return &Differs{Text: fmt.Sprintf("%s has no condition %s", TitleOf(o), a.Name), Objects: about}
}

// Remember reads values once.
func (c *Cluster) Remember(ctx context.Context, r *Remember) (map[string]any, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var mu sync.Mutex
	given, names, err := c.Given(ctx, r.Given, &mu, nil)
	if err != nil {
		return nil, err
	}
	mu.Lock()
	defer mu.Unlock()
	out := map[string]any{}
	for name, text := range r.Values {
		expression, err := Compile(text, names)
		if err != nil {
			return nil, err
		}
		world, err := c.World(ctx, expression.Metrics)
		if err != nil {
			return nil, err
		}
		if out[name], err = expression.Value(world, given()); err != nil {
			return nil, err
		}
	}
	return out, nil
}
