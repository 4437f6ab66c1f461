package check

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"minikcm.dev/minikcm/internal/reasons"
	"minikcm.dev/minikcm/internal/scenario/spec"
)

// Cluster is the cluster that checks observe.
type Cluster struct {
	Follower *Follower
	Kinds    Kinds
	// Reacher answers whether connections arrive; nil if that is not known.
	Reacher Reacher
	// World returns the variables of expressions, for each evaluation; metrics says whether the
	// expression reads metrics.
	World func(ctx context.Context, metrics bool) (*World, error)
	// Known returns the objects of a namespace, or of all if it is empty, from which the
	// reasons of a failure are found. It is called with the views' mutex held, while an
	// event is in flight. It may be nil.
	Known func(ctx context.Context, namespace string) *reasons.Index
}

// clause is one thing that must hold. It is called with the mutex held.
type clause func(ctx context.Context) error

// Expectation follows all objects that an Expect names.
type Expectation struct {
	mu      sync.Mutex
	clauses []clause
	// matching return the objects because of which a clause holds.
	matching []func(ctx context.Context) []*unstructured.Unstructured
	known    func(ctx context.Context, namespace string) *reasons.Index
}

// Follow returns when all views show the present state. changed is called after every event,
// in the order of events; it may be nil. It must not call Holds. HoldsLocked evaluates the
// state after that very event.
func (c *Cluster) Follow(ctx context.Context, e *spec.Expect, changed func()) (*Expectation, error) {
	x := &Expectation{known: c.Known}
	for i := range e.Objects {
		o, view, namespace, err := c.object(ctx, &e.Objects[i], &x.mu, changed)
		if err != nil {
			return nil, err
		}
		x.clauses = append(x.clauses, func(context.Context) error { return present(o, view, namespace) })
		x.matching = append(x.matching, func(context.Context) []*unstructured.Unstructured { return view.matching(o.Object) })
	}
	for i := range e.Absent {
		o, view, _, err := c.object(ctx, &e.Absent[i], &x.mu, changed)
		if err != nil {
			return nil, err
		}
		x.clauses = append(x.clauses, func(context.Context) error { return absent(o, view) })
	}
	for i := range e.Counts {
		n := &e.Counts[i]
		q, _, err := c.Kinds.Target(n.Target, n.Namespace)
		if err != nil {
			return nil, err
		}
		q.Selector, q.FieldSelector = n.Selector, n.FieldSelector
		view, err := c.Follower.Follow(ctx, q, &x.mu, changed)
		if err != nil {
			return nil, err
		}
		count := view.Count(n.Where)
		lacking := shortageOf(q)
		x.clauses = append(x.clauses, func(context.Context) error { return counted(n, count(), view, lacking) })
		x.matching = append(x.matching, func(context.Context) []*unstructured.Unstructured { return view.matching(n.Where) })
	}
	if err := c.reachable(ctx, e, x, changed); err != nil {
		return nil, err
	}
	return x, c.expressions(ctx, e, x, changed)
}

// object follows what an object is to be compared with, in the namespace that it is meant
// to be in.
func (c *Cluster) object(ctx context.Context, o *spec.Object, mu *sync.Mutex, changed func()) (*spec.Object, *View, string, error) {
	o, q, err := c.Kinds.Placed(o)
	if err != nil {
		return nil, nil, "", err
	}
	q.Name = o.GetName()
	view, err := c.Follower.Follow(ctx, q, mu, changed)
	return o, view, q.Namespace, err
}

func (c *Cluster) expressions(ctx context.Context, e *spec.Expect, x *Expectation, changed func()) error {
	if len(e.CEL) == 0 {
		return nil
	}
	given, names, err := c.Given(ctx, e.Given, &x.mu, changed)
	if err != nil {
		return err
	}
	for _, text := range e.CEL {
		expression, err := Compile(text, names)
		if err != nil {
			return err
		}
		x.clauses = append(x.clauses, func(ctx context.Context) error {
			world, err := c.World(ctx, expression.Metrics)
			if err != nil {
				return err
			}
			return expression.Holds(world, given())
		})
		x.matching = append(x.matching, func(ctx context.Context) []*unstructured.Unstructured {
			world, err := c.World(ctx, expression.Metrics)
			if err != nil {
				return nil
			}
			found, _ := culprits(expression.Text, world, given())
			return found
		})
	}
	return nil
}

// Holds returns nil if all of it holds at once, and otherwise all that does not.
func (x *Expectation) Holds(ctx context.Context) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.HoldsLocked(ctx)
}

// Explain adds to an error that Holds has just returned the details that Holds left out for
// speed, and why the objects are as they are.
func (x *Expectation) Explain(ctx context.Context, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.explainLocked(ctx, err)
}

// HoldsLocked is Holds for callers that hold the mutex, as changed does.
func (x *Expectation) HoldsLocked(ctx context.Context) error {
	var errs []error
	for _, holds := range x.clauses {
		err := holds(ctx)
		if err != nil && !IsDiffers(err) {
			return err
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Given follows the objects that expressions name. values returns them, and must be called
// with mu held.
func (c *Cluster) Given(ctx context.Context, given map[string]spec.Given, mu *sync.Mutex, changed func()) (values func() map[string]any, names []string, err error) {
	views := map[string]*View{}
	single := map[string]bool{}
	for _, name := range sortedKeys(given) {
		g := given[name]
		kind, one, err := spec.SplitTarget(g.Target)
		if err != nil {
			return nil, nil, err
		}
		q, _, err := c.Kinds.Target(kind, g.Namespace)
		if err != nil {
			return nil, nil, err
		}
		q.Name, q.Selector, q.FieldSelector = one, g.Selector, g.FieldSelector
		if views[name], err = c.Follower.Follow(ctx, q, mu, changed); err != nil {
			return nil, nil, err
		}
		single[name] = one != ""
		names = append(names, name)
	}
	return func() map[string]any {
		out := map[string]any{}
		for name, view := range views {
			list := view.List()
			switch {
			case !single[name]:
				items := make([]any, len(list))
				for i, o := range list {
					items[i] = o.Object
				}
				out[name] = items
			case len(list) > 0:
				out[name] = list[0].Object
			default:
				out[name] = nil
			}
		}
		return out
	}, names, nil
}

// present checks that the object, or one of its kind, has at least these fields.
func present(o *spec.Object, view *View, namespace string) error {
	list := view.List()
	if o.GetName() != "" {
		if len(list) == 0 {
			return &Differs{Text: o.Title() + " does not exist", Objects: []*unstructured.Unstructured{missing(o.GroupVersionKind(), namespace, o.GetName())}}
		}
		if diff := Difference(o.Object, list[0].Object); len(diff) > 0 {
			return &Differs{Text: TitleOf(list[0]) + " differs:", Diff: diff, Objects: list[:1]}
		}
		return nil
	}
	if slices.ContainsFunc(list, func(got *unstructured.Unstructured) bool { return Covers(o.Object, got.Object) }) {
		return nil
	}
	if len(list) == 0 {
		return &Differs{Text: fmt.Sprintf("no %s is as expected: there is none", o.GetKind())}
	}
	return &Differs{Text: fmt.Sprintf("no %s is as expected", o.GetKind()), more: func(d *Differs) { d.nearestTo(o, list) }}
}

func absent(o *spec.Object, view *View) error {
	for _, got := range view.List() {
		if Covers(o.Object, got.Object) {
			return &Differs{Text: TitleOf(got) + " should not exist", Objects: []*unstructured.Unstructured{got}, surplus: true}
		}
	}
	return nil
}

// counted checks a count. lacking describes the missing objects for a Differs, if the count is too
// low.
func counted(c *spec.Count, n int, view *View, lacking *shortage) error {
	if (c.Equals == nil || n == *c.Equals) && (c.Min == nil || n >= *c.Min) && (c.Max == nil || n <= *c.Max) {
		return nil
	}
	d := &Differs{Text: fmt.Sprintf("expected %s%s, found %d", c.Title(), c.Which(), n)}
	if (c.Equals != nil && n < *c.Equals) || (c.Min != nil && n < *c.Min) {
		d.more, d.missing = func(d *Differs) { d.nearest(c.Where, view) }, lacking
		all := len(view.List())
		d.numeric = c.Equals != nil && all < *c.Equals || c.Min != nil && all < *c.Min
		return d
	}
	d.surplus, d.numeric = true, true
	d.more = func(d *Differs) { d.blame(view.matching(c.Where)) }
	return d
}

// counts reports whether a check is about numbers of objects.
func counts(e *spec.Expect) bool {
	return len(e.Counts) > 0 || slices.ContainsFunc(e.CEL, func(text string) bool { return strings.Contains(text, "size(") })
}

// held returns the error of a check that never may hold, and holds. The caller holds the mutex.
func (x *Expectation) held(ctx context.Context, e *spec.Expect) error {
	return &Differs{Text: "it holds, which it never may: " + e.Title(), surplus: true, numeric: counts(e), more: func(d *Differs) {
		var found []*unstructured.Unstructured
		for _, matching := range x.matching {
			found = append(found, matching(ctx)...)
		}
		d.blame(found)
	}}
}
