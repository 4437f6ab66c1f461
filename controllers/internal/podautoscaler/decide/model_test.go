package decide

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/clock"
)

// decideFunc is Autoscaler, or a variant with a planted mistake.
type decideFunc func(Snapshot, time.Time) Decision

// history is one run of the model: an autoscaler, a changing load, clients that scale
// manually, writes that fail, and crashes after which the controller has lost its memory.
type history struct {
	r      *clock.Random
	decide decideFunc

	autoscaler *autoscalingv2.HorizontalPodAutoscaler
	opts       Options
	known      History
	now        time.Time
	replicas   int32
	load       int64
	trace      []entry
}

// entry is one reconcile of the autoscaler, as the model observes it.
type entry struct {
	at            time.Time
	current, size int32
	// asked is the size that the load requires, calculated by the model; bounded is true if
	// the target was outside of the bounds, or 0, so that the load did not matter.
	asked   int32
	bounded bool
	// written is true if the size was written.
	written bool
	status  autoscalingv2.HorizontalPodAutoscalerStatus
	again   time.Duration
}

// aim is the target value per pod, in thousandths.
const aim = 10_000

func newHistory(seed uint64, decide decideFunc) *history {
	h := &history{r: clock.NewRandom(seed), decide: decide, now: now, opts: DefaultOptions()}
	b := bounds{min: int32(1 + h.r.IntN(3))}
	b.max = b.min + int32(h.r.IntN(20))
	h.replicas = int32(h.r.IntN(int(b.max) + 3))
	h.autoscaler = &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", Generation: 1},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			MinReplicas: &b.min, MaxReplicas: b.max,
			Metrics: []autoscalingv2.MetricSpec{external(target(autoscalingv2.AverageValueMetricType, "10"))},
		},
	}
	if h.r.IntN(4) > 0 {
		h.autoscaler.Spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleUp: h.rules(), ScaleDown: h.rules()}
	}
	return h
}

func (h *history) rules() *autoscalingv2.HPAScalingRules {
	r := rules([]autoscalingv2.ScalingPolicySelect{most, most, least, least, disabled}[h.r.IntN(5)])
	r.StabilizationWindowSeconds = ptr.To(int32(h.r.IntN(5) * 45))
	for range 1 + h.r.IntN(2) {
		kind, value := byPods, int32(1+h.r.IntN(4))
		if h.r.IntN(2) == 0 {
			kind, value = byPercent, int32(10+h.r.IntN(10)*10)
		}
		r.Policies = append(r.Policies, policy(kind, value, int32(15*(1+h.r.IntN(8)))))
	}
	return r
}

// step advances the run by one period.
func (h *history) step(quiet bool) {
	h.now = h.now.Add(h.opts.SyncPeriod)
	fails := false
	if !quiet {
		switch h.r.IntN(12) {
		case 0:
			h.replicas = int32(h.r.IntN(int(h.autoscaler.Spec.MaxReplicas) + 3))
		case 1:
			h.known, h.trace = History{}, nil // a crash: earlier entries no longer count
		case 2:
			fails = true
		case 3, 4, 5:
			h.load = int64(h.r.IntN(25 * aim))
		case 6:
			h.load = h.load * int64(90+h.r.IntN(20)) / 100
		}
	}
	in := Snapshot{
		Autoscaler: h.autoscaler, Options: h.opts, History: h.known,
		Scale: &autoscalingv1.Scale{
			Spec: autoscalingv1.ScaleSpec{Replicas: h.replicas}, Status: autoscalingv1.ScaleStatus{Replicas: h.replicas, Selector: "app=web"},
		},
		Readings: values(h.load),
	}
	e := entry{at: h.now, current: h.replicas, size: h.replicas, asked: h.asks(), bounded: !NeedsMetrics(h.autoscaler, in.Scale)}
	d := h.decide(in, h.now)
	if d.Rescale != nil {
		if fails {
			d = Rescaled(in, d, fmt.Errorf("no"), h.now)
		} else {
			e.size, e.written = d.Rescale.To, true
			d = Rescaled(in, d, nil, h.now)
		}
	}
	e.status, e.again = *d.Status, d.RequeueAfter
	h.trace = append(h.trace, e)
	h.known, h.replicas, h.autoscaler.Status = d.History, e.size, *d.Status
}

// asks returns the size that the load requires.
func (h *history) asks() int32 {
	if ratio := float64(h.load) / float64(aim*int64(h.replicas)); ratio >= 0.9 && ratio <= 1.1 {
		return h.replicas
	}
	return int32(math.Ceil(float64(h.load) / aim))
}

// invariants returns functions that describe a violation in the last step; empty: none.
func invariants() map[string]func(*history) string {
	return map[string]func(*history) string{
		"a size is never outside the bounds":                 neverOutside,
		"it never shrinks below what was asked for recently": neverBelowRecent,
		"it never grows above what was asked for recently":   neverAboveRecent,
		"it never changes faster than the policies":          neverTooFast,
		"nothing changes without a recommendation":           neverUnasked,
		"the status says what is":                            statusIsTrue,
		"it always comes back":                               alwaysAgain,
	}
}

func (h *history) last() entry { return h.trace[len(h.trace)-1] }

func neverOutside(h *history) string {
	if e, b := h.last(), boundsOf(h.autoscaler); e.written && (e.size < b.min || e.size > b.max) {
		return fmt.Sprintf("%d is written, outside of %d to %d", e.size, b.min, b.max)
	}
	return ""
}

// recent returns the entries of a window, including the last, in which metrics mattered.
func (h *history) recent(window time.Duration) []entry {
	return slices.DeleteFunc(slices.Clone(h.trace), func(e entry) bool { return e.bounded || !e.at.After(h.now.Add(-window)) && !e.at.Equal(h.now) })
}

func (h *history) windows() windows {
	if b := h.autoscaler.Spec.Behavior; b != nil {
		return windowsOf(b, h.opts.DownscaleStabilization)
	}
	return windows{down: h.opts.DownscaleStabilization}
}

func neverBelowRecent(h *history) string {
	e := h.last()
	if !e.written || e.bounded || e.size >= e.current {
		return ""
	}
	for _, before := range h.recent(h.windows().down) {
		if e.size < before.asked {
			return fmt.Sprintf("shrinks to %d, when %d was asked for %v before", e.size, before.asked, e.at.Sub(before.at))
		}
	}
	return ""
}

func neverAboveRecent(h *history) string {
	e := h.last()
	if h.autoscaler.Spec.Behavior == nil || !e.written || e.bounded || e.size <= e.current {
		return ""
	}
	for _, before := range h.recent(h.windows().up) {
		if e.size > before.asked {
			return fmt.Sprintf("grows to %d, when %d was asked for %v before", e.size, before.asked, e.at.Sub(before.at))
		}
	}
	return ""
}

func neverTooFast(h *history) string {
	e, behavior := h.last(), h.autoscaler.Spec.Behavior
	switch {
	case !e.written || e.bounded:
		return ""
	case behavior == nil:
		if e.size > max(2*e.current, 4) {
			return fmt.Sprintf("grows too fast, from %d to %d", e.current, e.size)
		}
		return ""
	}
	r, up := behavior.ScaleUp, e.size > e.current
	if !up {
		r = behavior.ScaleDown
	}
	if *r.SelectPolicy == disabled {
		return fmt.Sprintf("changes too fast, from %d to %d: not at all is allowed", e.current, e.size)
	}
	agree := 0
	for _, p := range r.Policies {
		if h.allowed(p, e, up) {
			agree++
		}
	}
	if agree == 0 || *r.SelectPolicy == least && agree < len(r.Policies) {
		return fmt.Sprintf("changes too fast, from %d to %d: %d of %d policies (%s) allow it", e.current, e.size, agree, len(r.Policies), *r.SelectPolicy)
	}
	return ""
}

// allowed reports whether a policy allows the target's new size, given the writes within
// the policy's period.
func (h *history) allowed(p autoscalingv2.HPAScalingPolicy, e entry, up bool) bool {
	start := e.current
	for _, before := range h.trace[:len(h.trace)-1] {
		if before.written && before.at.After(e.at.Add(-time.Duration(p.PeriodSeconds)*time.Second)) {
			start -= before.size - before.current
		}
	}
	change := float64(p.Value)
	if p.Type == byPercent {
		change = float64(start) * float64(p.Value) / 100
	}
	if up {
		return float64(e.size) < float64(start)+change+1
	}
	// Rounded down; with upstream's floating-point arithmetic, 80% less than 10 may be 1.
	return float64(e.size) >= float64(start)-change-1
}

func neverUnasked(h *history) string {
	e, w := h.last(), h.windows()
	if !e.written || e.bounded {
		return ""
	}
	for _, before := range h.recent(max(w.up, w.down) + time.Nanosecond) {
		if before.asked != e.current || before.current != e.current {
			return ""
		}
	}
	return fmt.Sprintf("no recommendation led to the change from %d to %d", e.current, e.size)
}

func statusIsTrue(h *history) string {
	e := h.last()
	scaled := e.status.LastScaleTime != nil && e.status.LastScaleTime.Time.Equal(e.at)
	if e.status.CurrentReplicas != e.current || e.written && e.status.DesiredReplicas != e.size || scaled != e.written {
		return fmt.Sprintf("from %d to %d, but the status says %d to %d, scaled %v", e.current, e.size, e.status.CurrentReplicas, e.status.DesiredReplicas, scaled)
	}
	return ""
}

func alwaysAgain(h *history) string {
	if e := h.last(); e.again != h.opts.SyncPeriod {
		return fmt.Sprintf("comes back in %v", e.again)
	}
	return ""
}

// settles keeps the load constant until all windows and periods have passed: the size must then be
// the one that the load requires, within the limits.
func settles(h *history) string {
	for range 200 {
		h.step(true)
	}
	b, asked := boundsOf(h.autoscaler), h.asks()
	wanted := min(max(asked, b.min), b.max)
	behavior := h.autoscaler.Spec.Behavior
	switch {
	case h.replicas == wanted || h.replicas == 0:
		return ""
	case behavior == nil:
	case wanted > h.replicas && *behavior.ScaleUp.SelectPolicy == disabled, wanted < h.replicas && *behavior.ScaleDown.SelectPolicy == disabled:
		return ""
	case wanted < h.replicas && int32(float64(h.replicas)*0.9)+1 > h.replicas-1:
		return "" // a percentage of few pods allows no whole pod
	}
	return fmt.Sprintf("stays at %d and does not come to %d", h.replicas, wanted)
}

// breaks runs one history and returns the invariant that it breaks, if any.
func breaks(seed uint64, decide decideFunc) string {
	h := newHistory(seed, decide)
	for range 60 {
		h.step(false)
		for name, check := range invariants() {
			if message := check(h); message != "" {
				return name + ": " + message
			}
		}
	}
	if message := settles(h); message != "" {
		return "it comes to rest: " + message
	}
	return ""
}

func TestModel(t *testing.T) {
	for seed := range uint64(3000) {
		if message := breaks(seed, Autoscaler); message != "" {
			t.Fatalf("seed %d: %s", seed, message)
		}
	}
}

// TestPlantedMistakesAreSeen checks that the invariants detect planted mistakes.
func TestPlantedMistakesAreSeen(t *testing.T) {
	changed := func(change func(*Snapshot)) decideFunc {
		return func(in Snapshot, now time.Time) Decision {
			in.Autoscaler = in.Autoscaler.DeepCopy()
			change(&in)
			return Autoscaler(in, now)
		}
	}
	choose := func(r *autoscalingv2.HPAScalingRules, from, to autoscalingv2.ScalingPolicySelect) {
		if *r.SelectPolicy == from {
			*r.SelectPolicy = to
		}
	}
	behaving := func(change func(*autoscalingv2.HorizontalPodAutoscalerBehavior)) decideFunc {
		return changed(func(in *Snapshot) {
			if b := in.Autoscaler.Spec.Behavior; b != nil {
				change(b)
			}
		})
	}
	mistakes := map[string]struct {
		decide decideFunc
		want   string
	}{
		"the maximum is forgotten":     {changed(func(in *Snapshot) { in.Autoscaler.Spec.MaxReplicas += 5 }), "outside"},
		"the minimum is forgotten":     {changed(func(in *Snapshot) { in.Autoscaler.Spec.MinReplicas = ptr.To[int32](0) }), "outside"},
		"no recommendations are known": {changed(func(in *Snapshot) { in.History.Recommendations = nil }), "does not come"},
		"older recommendations are not known": {changed(func(in *Snapshot) {
			if n := len(in.History.Recommendations); n > 1 {
				in.History.Recommendations = in.History.Recommendations[n-1:]
			}
		}), "shrinks"},
		"the window down is too short": {behaving(func(b *autoscalingv2.HorizontalPodAutoscalerBehavior) {
			*b.ScaleDown.StabilizationWindowSeconds /= 2
		}), "shrinks"},
		"the window up is too short": {behaving(func(b *autoscalingv2.HorizontalPodAutoscalerBehavior) {
			*b.ScaleUp.StabilizationWindowSeconds /= 2
		}), "grows"},
		"growth is not known":             {changed(func(in *Snapshot) { in.History.Ups = nil }), "too fast"},
		"the last shrinking is not known": {changed(func(in *Snapshot) { in.History.Downs = nil }), "too fast"},
		"the most is taken for the least": {behaving(func(b *autoscalingv2.HorizontalPodAutoscalerBehavior) {
			choose(b.ScaleUp, least, most)
			choose(b.ScaleDown, least, most)
		}), "too fast"},
		"what is disabled is not": {behaving(func(b *autoscalingv2.HorizontalPodAutoscalerBehavior) {
			choose(b.ScaleUp, disabled, most)
			choose(b.ScaleDown, disabled, most)
		}), "not at all"},
		"periods are too short": {behaving(func(b *autoscalingv2.HorizontalPodAutoscalerBehavior) {
			for i := range b.ScaleUp.Policies {
				b.ScaleUp.Policies[i].PeriodSeconds = 1
			}
		}), "too fast"},
		"one pod too many goes": {func(in Snapshot, now time.Time) Decision {
			d := Autoscaler(in, now)
			if d.Rescale != nil && d.Rescale.To < d.Rescale.From {
				d.Rescale.To--
			}
			return d
		}, "outside"},
		"nothing is tolerated": {changed(func(in *Snapshot) { in.Options.Tolerance = -1 }), "no recommendation"},
		"it grows only": {func(in Snapshot, now time.Time) Decision {
			d := Autoscaler(in, now)
			if d.Rescale != nil && d.Rescale.To < d.Rescale.From {
				d.Rescale = nil
			}
			return d
		}, "does not come"},
		"it forgets to come back": {func(in Snapshot, now time.Time) Decision {
			d := Autoscaler(in, now)
			if d.Rescale == nil {
				d.RequeueAfter = 0
			}
			return d
		}, "comes back"},
		"the status is old": {func(in Snapshot, now time.Time) Decision {
			d := Autoscaler(in, now)
			d.Status.CurrentReplicas = in.Autoscaler.Status.CurrentReplicas
			return d
		}, "status says"},
	}
	for name, mistake := range mistakes {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(3000) {
				if message := breaks(seed, mistake.decide); strings.Contains(message, mistake.want) {
					return
				}
			}
			t.Error("no history of 3000 shows it")
		})
	}
}
