package scenarios

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"minikcm.dev/minikcm/internal/scenario/check"
	"minikcm.dev/minikcm/internal/scenario/spec"
)

// checks returns the cluster as checks need it.
func (r *run) checks() *check.Cluster {
	return &check.Cluster{Follower: r.follower, Kinds: r.kinds, World: r.expressions, Known: r.known, Reacher: r.reacher()}
}

// expressions returns the values that CEL expressions may name.
func (r *run) expressions(ctx context.Context, metrics bool) (*check.World, error) {
	w := &check.World{Now: r.clock.Now(), Elapsed: r.clock.Since(r.begun), Vars: r.variables()}
	r.mu.Lock()
	w.Remembered = maps.Clone(r.remembered)
	r.mu.Unlock()
	if !metrics {
		return w, nil
	}
	var err error
	w.Metrics, err = r.metrics(ctx)
	return w, err
}

// variables returns the file's variables with their defaults or the values that were set.
func (r *run) variables() map[string]string {
	vars := map[string]string{}
	for name, value := range r.scenario.Spec.Vars {
		if value != nil {
			vars[name] = *value
		}
	}
	maps.Copy(vars, r.opts.Set)
	return vars
}

// metrics reads the apiserver's metrics: the series of each, as {labels, value}. Of a
// histogram these are NAME_sum and NAME_count.
func (r *run) metrics(ctx context.Context) (map[string]any, error) {
	data, err := r.client.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the metrics: %w", err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("parsing the metrics: %w", err)
	}
	out := map[string]any{}
	add := func(name string, m *dto.Metric, value float64) {
		labels := map[string]any{}
		for _, pair := range m.GetLabel() {
			labels[pair.GetName()] = pair.GetValue()
		}
		series, _ := out[name].([]any)
		out[name] = append(series, map[string]any{"labels": labels, "value": value})
	}
	for name, family := range families {
		for _, m := range family.GetMetric() {
			switch {
			case m.GetCounter() != nil:
				add(name, m, m.GetCounter().GetValue())
			case m.GetGauge() != nil:
				add(name, m, m.GetGauge().GetValue())
			case m.GetUntyped() != nil:
				add(name, m, m.GetUntyped().GetValue())
			case m.GetHistogram() != nil:
				add(name+"_sum", m, m.GetHistogram().GetSampleSum())
				add(name+"_count", m, float64(m.GetHistogram().GetSampleCount()))
			}
		}
	}
	return out, nil
}

func checkExpect(e *spec.Expect, c *spec.Checker) { c.Expect("", e) }

func expectTitle(e *spec.Expect) string { return "expect " + e.Title() }

// expectedObjects are partial, as the fields are that they are compared in.
func expectedObjects(e *spec.Expect) []spec.Object { return slices.Concat(e.Objects, e.Absent) }

func (b *branch) expect(ctx context.Context, e *spec.Expect) error {
	return b.expectWithin(ctx, e, time.Duration(e.Within)+b.run.opts.Leeway)
}

func (b *branch) expectWithin(ctx context.Context, e *spec.Expect, limit time.Duration) error {
	if len(e.Reachable) > 0 { // what the steps before have done is delivered first
		if err := b.Yield(ctx); err != nil {
			return err
		}
	}
	return b.within(ctx, limit, false, func(ctx context.Context) (*check.Expectation, error) {
		return b.run.checks().Follow(ctx, e, b.Raise)
	})
}

// wait looks a second time at conditions and rollouts, which controllers report: they may not
// have seen yet what the steps before have done.
func (b *branch) wait(ctx context.Context, w *check.Wait) error {
	reported := w.Parsed().Kind == check.ForRollout || w.Parsed().Kind == check.ForCondition
	return b.within(ctx, time.Duration(w.Within)+b.run.opts.Leeway, reported, func(ctx context.Context) (*check.Expectation, error) {
		return b.run.checks().FollowWait(ctx, w, b.Raise)
	})
}

// within evaluates a check at once and then after every event, for at most limit of the
// cluster's time, and last at the limit itself; 0 evaluates it once. reported says that the
// check reads what controllers report, so that it must hold after they have reacted, too.
func (b *branch) within(ctx context.Context, limit time.Duration, reported bool, follow func(ctx context.Context) (*check.Expectation, error)) error {
	following, cancel := context.WithCancel(ctx)
	defer cancel()
	x, err := follow(following)
	if err != nil {
		return err
	}
	last := x.Holds(ctx)
	if last == nil && reported {
		if err := b.instant(ctx); err != nil {
			return err
		}
		last = x.Holds(ctx)
	}
	if last == nil || limit == 0 || !check.IsDiffers(last) {
		x.Explain(ctx, last)
		return last
	}
	var over atomic.Bool
	timer := b.run.clock.AfterFunc(limit, func() {
		b.raiseLast(func() { over.Store(true) })
	})
	defer timer.Stop()
	for {
		b.differs(last)
		if err := b.Wait(ctx); err != nil {
			x.Explain(ctx, last)
			return fmt.Errorf("%w: %w", err, last)
		}
		last = x.Holds(ctx)
		switch {
		case last == nil || !check.IsDiffers(last):
			x.Explain(ctx, last)
			return last
		case over.Load():
			x.Explain(ctx, last)
			return fmt.Errorf("not within %v: %w", limit, last)
		}
	}
}

// differs reports what the check of the present step waits for.
func (b *branch) differs(err error) {
	if b.quiet {
		return
	}
	b.run.reportChecks(func(p CheckProgress) { p.Differs(cmp.Or(b.background, b.title), err) })
}

// instant waits until the cluster's parts have reacted to the previous steps, as far as they do at
// this instant. Without virtual time there is no such moment, and it returns at once.
func (b *branch) instant(ctx context.Context) error {
	if !b.TakesTurns() {
		return nil
	}
	var over atomic.Bool
	b.raiseLast(func() { over.Store(true) })
	for !over.Load() {
		if err := b.Wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

func rememberTitle(*check.Remember) string { return "remember" }

func (b *branch) remember(ctx context.Context, r *check.Remember) error {
	values, err := b.run.checks().Remember(ctx, r)
	if err != nil {
		return err
	}
	b.run.mu.Lock()
	maps.Copy(b.run.remembered, values)
	b.run.mu.Unlock()
	for _, name := range sortedKeys(values) {
		b.note("%s is %s", name, strings.TrimSpace(rounded(values[name])+" "+r.Unit))
	}
	return nil
}

// rounded formats a value; small numbers with a fraction have four digits, others no fraction.
func rounded(value any) string {
	number, ok := value.(float64)
	switch {
	case !ok:
		return fmt.Sprint(value)
	case number == math.Trunc(number), math.Abs(number) >= 1000:
		return strconv.FormatFloat(number, 'f', 0, 64)
	}
	return strconv.FormatFloat(number, 'g', 4, 64)
}
