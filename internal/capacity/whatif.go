package capacity

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"minikcm.dev/minikcm/internal/scenario/runrecord"
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
	asked, err := f.desired(ctx)
	if err != nil {
		return nil, err
	}
	if err := f.checkTraffic(ctx); err != nil {
		return nil, err
	}
	begun := f.cluster.Clock().Now()
	activities, settled, sent, err := f.makeWithTraffic(ctx, changes, before)
	if err != nil {
		return nil, err
	}
	after, err := f.state(ctx)
	if err != nil {
		return nil, err
	}
	r := &Report{Changes: changes, Loaded: f.Loaded(), Settled: settled, Traffic: sent, begun: begun}
	r.lasts(f.watch.since())
	for _, a := range activities {
		if a, reports := a.(interface{ report(r *Report) }); reports {
			a.report(r)
		}
	}
	r.compare(before, after, f.watch.warning)
	if f.opts.Autoscale {
		if r.Scaled, err = f.scaled(ctx, asked); err != nil {
			return nil, err
		}
	}
	r.Waited = append(r.Waited, f.waited(begun)...)
	slices.SortStableFunc(r.Waited, func(a, b Wait) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), strings.Compare(a.Pod.String(), b.Pod.String()), strings.Compare(a.For, b.For))
	})
	r.Assumed = f.assumed()
	lacks := f.lacks(before, r)
	unscaled, err := f.unscaled(ctx, changes)
	if err != nil {
		return nil, err
	}
	r.judge(append(lacks, unscaled...))
	return r, nil
}

// makeWithTraffic makes the changes while requests are sent.
func (f *Fork) makeWithTraffic(ctx context.Context, changes []Change, before *state) (all []activity, settled bool, sent []runrecord.Traffic, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	end, err := f.send(ctx, cancel)
	if err != nil {
		return nil, false, nil, err
	}
	all, settled, err = f.make(ctx, changes, before)
	sent = end()
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return all, settled, sent, err
}

// make makes the changes and lets the fork settle. A consolidation begins when the fork has settled after the
// other changes.
func (f *Fork) make(ctx context.Context, changes []Change, before *state) (all []activity, settled bool, err error) {
	for _, last := range []bool{false, true} {
		var activities []activity
		for i := range changes {
			c := &changes[i]
			if (c.Verb == Consolidate) != last {
				continue
			}
			a, err := f.apply(ctx, c, before.nodes)
			if err != nil {
				return nil, false, err
			}
			if a != nil {
				activities = append(activities, a)
			}
		}
		if last && len(activities) == 0 {
			break
		}
		if f.opts.NodeGroups != nil {
			activities = append(activities, f.autoscaler())
		}
		if settled, err = f.settle(ctx, activities...); err != nil {
			return nil, false, fmt.Errorf("letting the fork settle after the changes: %w", err)
		}
		all = append(all, activities...)
	}
	return all, settled, nil
}

// noticeable is the wait of a pod from which on it is reported.
const noticeable = 10 * time.Second

// waited returns how long new pods took to get ready, with the reason why they did not start meanwhile.
func (f *Fork) waited(begun time.Time) []Wait {
	var all []Wait
	for _, h := range f.watch.histories(begun) {
		took := h.ready.Sub(h.created)
		if h.ready.IsZero() || took < noticeable {
			continue
		}
		w := Wait{Pod: nameOf(h.pod), Node: h.pod.Spec.NodeName, For: WaitReady, Seconds: seconds(took), Reason: h.reason}
		if event := f.watch.warning(h.pod.UID); event != nil && w.Reason == "" {
			w.Reason = event.Message
		}
		all = append(all, w)
	}
	return all
}

// lacks reports whether an autoscaler is at its limit because of the question.
func (r *Report) lacks(s Scaled) bool {
	loads := slices.ContainsFunc(r.Changes, func(c Change) bool { return c.Verb == Load })
	return s.Limited != "" && (loads || s.After > s.Before)
}

// judge sets the verdict. lacks describes things that the answer depends on and the fork does not
// have.
func (r *Report) judge(lacks []string) {
	definite := len(r.Refused)+len(r.Leaving)+len(r.Rejected) > 0
	for _, d := range r.Drains {
		definite = definite || !d.Done
	}
	further := slices.ContainsFunc(r.Pending, func(w Waiting) bool { return !w.Before })
	limited := slices.ContainsFunc(r.Scaled, r.lacks)
	r.Fits = !definite && !further && !limited && len(r.Short)+len(r.missed()) == 0
	switch {
	case !definite && len(lacks) > 0:
		r.Verdict, r.Uncertain = Uncertain, lacks
	case r.Fits:
		r.Verdict = Fits
	default:
		r.Verdict = DoesNotFit
	}
}
