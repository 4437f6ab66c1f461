package capacity

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// WhatIf makes the changes in their order, all at the same instant, lets the fork settle, and
// reports the differences. It returns an InputError for changes of objects that do not exist.
func (f *Fork) WhatIf(ctx context.Context, changes []Change) (*Report, error) {
	before, err := f.state(ctx)
	if err != nil {
		return nil, err
	}
	if err := f.check(ctx, changes, before.nodes); err != nil {
		return nil, err
	}
	begun := f.cluster.Clock().Now()
	d := &drainer{}
	for i := range changes {
		if err := f.apply(ctx, &changes[i], before.nodes, d); err != nil {
			return nil, err
		}
	}
	again := func(ctx context.Context) error { return d.attempt(ctx, f) }
	if err := again(ctx); err != nil {
		return nil, err
	}
	if err := f.settle(ctx, again); err != nil {
		return nil, fmt.Errorf("letting the fork settle after the changes: %w", err)
	}
	after, err := f.state(ctx)
	if err != nil {
		return nil, err
	}
	r := &Report{Changes: changes, Loaded: f.Loaded()}
	calm := f.calm.since()
	r.Took, r.Settled = seconds(calm.Sub(begun)), f.cluster.Clock().Since(calm) >= quiet
	r.Refused = slices.SortedFunc(maps.Values(d.refused), func(a, b Refusal) int {
		return cmp.Or(strings.Compare(a.Pod.Namespace, b.Pod.Namespace), strings.Compare(a.Pod.Name, b.Pod.Name))
	})
	r.compare(before, after)
	return r, nil
}
