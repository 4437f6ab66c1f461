package scenarios

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
)

func (e *Expect) check(line int) error {
	if len(e.Objects)+len(e.Absent)+len(e.Counts) == 0 {
		return at(line, "expect needs objects, absent or counts")
	}
	for _, objects := range [][]Object{e.Objects, e.Absent} {
		for i := range objects {
			if o := &objects[i]; o.GetAPIVersion() == "" || o.GetKind() == "" {
				return at(o.line, "an expected object needs apiVersion and kind")
			}
		}
	}
	for i := range e.Counts {
		if err := e.Counts[i].check(); err != nil {
			return at(line, "expect.counts[%d]: %w", i, err)
		}
	}
	return nil
}

func (c *Count) check() error {
	_, name, err := splitTarget(c.Target)
	switch {
	case err != nil:
		return err
	case name != "":
		return fmt.Errorf("target is a kind, not one object: %q", c.Target)
	case c.Equals == nil && c.Min == nil && c.Max == nil:
		return errors.New("say how many: equals, min or max")
	case c.Min != nil && c.Max != nil && *c.Min > *c.Max:
		return fmt.Errorf("min %d is above max %d", *c.Min, *c.Max)
	case c.Equals != nil && (c.Min != nil || c.Max != nil):
		return errors.New("equals says it all: leave out min and max")
	}
	for _, bound := range []*int{c.Equals, c.Min, c.Max} {
		if bound != nil && *bound < 0 {
			return fmt.Errorf("there are never fewer than 0 objects: %d", *bound)
		}
	}
	if _, err := fields.ParseSelector(c.FieldSelector); err != nil {
		return fmt.Errorf("%q is not a field selector (such as spec.nodeName=node-0): %w", c.FieldSelector, err)
	}
	if where, ok := jsonValue(c.Where).(map[string]any); ok {
		c.Where = where
	}
	return checkSelector(c.Selector)
}

func (e *Expect) title() string {
	var parts []string
	for _, o := range e.Objects {
		parts = append(parts, o.title())
	}
	for _, o := range e.Absent {
		parts = append(parts, "no "+strings.TrimPrefix(o.title(), "any "))
	}
	for _, c := range e.Counts {
		parts = append(parts, c.title())
	}
	return "expect " + strings.Join(parts, ", ")
}

func (c *Count) title() string {
	var bounds []string
	for _, b := range []struct {
		word  string
		value *int
	}{{"", c.Equals}, {"at least ", c.Min}, {"at most ", c.Max}} {
		if b.value != nil {
			bounds = append(bounds, fmt.Sprintf("%s%d", b.word, *b.value))
		}
	}
	return strings.Join(bounds, " and ") + " " + c.Target
}

// which says what the objects that are counted have in common.
func (c *Count) which() string {
	var parts []string
	for _, selector := range []string{c.Selector, c.FieldSelector} {
		if selector != "" {
			parts = append(parts, selector)
		}
	}
	if len(c.Where) > 0 {
		parts = append(parts, text(c.Where))
	}
	if len(parts) == 0 {
		return ""
	}
	return " with " + strings.Join(parts, " and ")
}

func (e *Expect) run(ctx context.Context, r *run) error {
	var checks []func(ctx context.Context) error
	add := func(err error, check func(ctx context.Context) error) error {
		checks = append(checks, check)
		return err
	}
	for i := range e.Objects {
		o := &e.Objects[i]
		client, err := r.resource(o.GroupVersionKind(), o.GetNamespace())
		if err := add(err, func(ctx context.Context) error { return o.present(ctx, client) }); err != nil {
			return err
		}
	}
	for i := range e.Absent {
		o := &e.Absent[i]
		client, err := r.resource(o.GroupVersionKind(), o.GetNamespace())
		if err := add(err, func(ctx context.Context) error { return o.absent(ctx, client) }); err != nil {
			return err
		}
	}
	for i := range e.Counts {
		c := &e.Counts[i]
		client, err := r.target(c.Target, c.Namespace)
		if err := add(err, func(ctx context.Context) error { return c.holds(ctx, client) }); err != nil {
			return err
		}
	}
	return r.within(ctx, time.Duration(e.Within), func(ctx context.Context) error {
		var errs []error
		for _, check := range checks {
			err := check(ctx)
			var d *differs
			if err != nil && !errors.As(err, &d) {
				return err
			}
			errs = append(errs, err)
		}
		if err := errors.Join(errs...); err != nil {
			return &differs{err}
		}
		return nil
	})
}

// present checks that the object, or one of its kind, has at least these fields.
func (o *Object) present(ctx context.Context, client resourceClient) error {
	if o.GetName() != "" {
		got, err := client.Get(ctx, o.GetName(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return &differs{fmt.Errorf("%s does not exist", o.title())}
		}
		if err != nil {
			return err
		}
		if diff := difference(o.Object, got.Object); len(diff) > 0 {
			return &differs{fmt.Errorf("%s differs:\n  %s", titleOf(got), strings.Join(diff, "\n  "))}
		}
		return nil
	}
	matching, nearest, err := o.matching(ctx, client)
	if err != nil || len(matching) > 0 {
		return err
	}
	return &differs{fmt.Errorf("no %s is as expected%s", o.GetKind(), nearest)}
}

func (o *Object) absent(ctx context.Context, client resourceClient) error {
	matching, _, err := o.matching(ctx, client)
	if err != nil || len(matching) == 0 {
		return err
	}
	return &differs{fmt.Errorf("%s should not exist", titleOf(&matching[0]))}
}

// matching lists the objects that have the fields; nearest tells what is the least
// difference, for messages.
func (o *Object) matching(ctx context.Context, client resourceClient) (matching []unstructured.Unstructured, nearest string, err error) {
	list, err := client.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, "", err
	}
	least := -1
	for i := range list.Items {
		diff := difference(o.Object, list.Items[i].Object)
		if len(diff) == 0 {
			matching = append(matching, list.Items[i])
			continue
		}
		if least < 0 || len(diff) < least {
			least = len(diff)
			nearest = fmt.Sprintf("; the nearest of %d is %s:\n  %s", len(list.Items), titleOf(&list.Items[i]), strings.Join(diff, "\n  "))
		}
	}
	if len(list.Items) == 0 {
		nearest = ": there is none"
	}
	return matching, nearest, nil
}

func (c *Count) holds(ctx context.Context, client lister) error {
	list, err := client.List(ctx, metav1.ListOptions{LabelSelector: c.Selector, FieldSelector: c.FieldSelector})
	if err != nil {
		return err
	}
	n := 0
	for i := range list.Items {
		if len(difference(c.Where, list.Items[i].Object)) == 0 {
			n++
		}
	}
	if (c.Equals != nil && n != *c.Equals) || (c.Min != nil && n < *c.Min) || (c.Max != nil && n > *c.Max) {
		return &differs{fmt.Errorf("expected %s%s, found %d", c.title(), c.which(), n)}
	}
	return nil
}
