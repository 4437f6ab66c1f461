package decide

import (
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
)

func ago(d time.Duration, replicas int32) Sized { return Sized{replicas, now.Add(-d)} }

func policy(kind autoscalingv2.HPAScalingPolicyType, value, seconds int32) autoscalingv2.HPAScalingPolicy {
	return autoscalingv2.HPAScalingPolicy{Type: kind, Value: value, PeriodSeconds: seconds}
}

func rules(choice autoscalingv2.ScalingPolicySelect, policies ...autoscalingv2.HPAScalingPolicy) *autoscalingv2.HPAScalingRules {
	return &autoscalingv2.HPAScalingRules{SelectPolicy: &choice, StabilizationWindowSeconds: ptr.To[int32](0), Policies: policies}
}

const (
	byPods    = autoscalingv2.PodsScalingPolicy
	byPercent = autoscalingv2.PercentScalingPolicy
	most      = autoscalingv2.MaxChangePolicySelect
	least     = autoscalingv2.MinChangePolicySelect
	disabled  = autoscalingv2.DisabledPolicySelect
)

// TestPolicies checks the next size of a target that the metrics want at 1000, or at 1.
func TestPolicies(t *testing.T) {
	tests := []struct {
		name    string
		rules   *autoscalingv2.HPAScalingRules
		h       History
		current int32
		up      int32
		down    int32
	}{
		{"pods", rules(most, policy(byPods, 4, 60)), History{}, 10, 14, 6},
		{"percent", rules(most, policy(byPercent, 50, 60)), History{}, 10, 15, 5},
		{"percent is rounded for the change", rules(most, policy(byPercent, 10, 60)), History{}, 1, 2, 1},
		{"the most of two", rules(most, policy(byPods, 4, 60), policy(byPercent, 100, 60)), History{}, 10, 20, 1},
		{"the least of two", rules(least, policy(byPods, 4, 60), policy(byPercent, 100, 60)), History{}, 10, 14, 6},
		{"no choice is the most", &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: ptr.To[int32](0), Policies: []autoscalingv2.HPAScalingPolicy{policy(byPods, 4, 60), policy(byPods, 6, 60)}}, History{}, 10, 16, 4},
		{"disabled", rules(disabled, policy(byPods, 4, 60)), History{}, 10, 10, 10},
		{"changes of the period count", rules(most, policy(byPods, 4, 60)), History{Ups: []Sized{ago(30*time.Second, 3)}}, 10, 11, 3},
		{"and those of the other direction", rules(most, policy(byPods, 4, 60)), History{Downs: []Sized{ago(30*time.Second, 3)}}, 10, 17, 9},
		{"older ones do not", rules(most, policy(byPods, 4, 60)), History{Ups: []Sized{ago(60*time.Second, 3)}}, 10, 14, 6},
		{"all has been used up", rules(most, policy(byPods, 4, 60)), History{Ups: []Sized{ago(50*time.Second, 4), ago(20*time.Second, 4)}}, 10, 10, 1},
		{"each policy has its period", rules(least, policy(byPods, 4, 60), policy(byPods, 2, 10)), History{Ups: []Sized{ago(30*time.Second, 3)}}, 10, 11, 8},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleUp: tt.rules, ScaleDown: tt.rules}
			within := bounds{1, 1000}
			if got := within.limitBy(b, tt.h, tt.current, 1000, now); got.replicas != tt.up {
				t.Errorf("up to %d (%s), want %d", got.replicas, got.reason, tt.up)
			}
			if got := within.limitBy(b, tt.h, tt.current, 1, now); got.replicas != tt.down {
				t.Errorf("down to %d (%s), want %d", got.replicas, got.reason, tt.down)
			}
		})
	}
}

// TestReasons checks the reasons for which a size differs from what the metrics require.
func TestReasons(t *testing.T) {
	b := &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleUp: rules(most, policy(byPods, 4, 60)), ScaleDown: rules(most, policy(byPods, 4, 60))}
	tests := []struct {
		min, max, current, desired int32
		want                       string
	}{
		{1, 12, 10, 20, "TooManyReplicas"},
		{1, 20, 10, 20, "ScaleUpLimit"},
		{8, 20, 10, 1, "TooFewReplicas"},
		{1, 20, 10, 1, "ScaleDownLimit"},
		{1, 20, 10, 11, "DesiredWithinRange"},
		{1, 20, 10, 10, "DesiredWithinRange"},
		{1, 20, 10, 9, "DesiredWithinRange"},
	}
	for _, tt := range tests {
		if got := (bounds{tt.min, tt.max}).limitBy(b, History{}, tt.current, tt.desired, now); got.reason != tt.want {
			t.Errorf("from %d to %d within %d and %d: %s, want %s", tt.current, tt.desired, tt.min, tt.max, got.reason, tt.want)
		}
	}
}

// TestWithoutBehavior checks that an autoscaler without behavior grows to twice the size,
// and at least to 4.
func TestWithoutBehavior(t *testing.T) {
	tests := []struct {
		current, desired int32
		want             int32
		reason           string
	}{
		{1, 100, 4, "ScaleUpLimit"},
		{3, 100, 6, "ScaleUpLimit"},
		{60, 200, 100, "TooManyReplicas"},
		{10, 0, 1, "TooFewReplicas"},
		{10, 2, 2, "DesiredWithinRange"},
	}
	for _, tt := range tests {
		got := (bounds{1, 100}).limit(tt.current, tt.desired)
		if got.replicas != tt.want || got.reason != tt.reason {
			t.Errorf("from %d to %d: %d for %s, want %d for %s", tt.current, tt.desired, got.replicas, got.reason, tt.want, tt.reason)
		}
	}
}

// TestWindows checks that recommendations within the windows hold back a change.
func TestWindows(t *testing.T) {
	h := History{Recommendations: []Sized{ago(4*time.Minute, 8), ago(2*time.Minute, 5), ago(30*time.Second, 6)}}
	tests := []struct {
		name             string
		w                windows
		current, desired int32
		want             int32
	}{
		{"down, nothing older", windows{}, 8, 2, 2},
		{"down, half a minute", windows{down: time.Minute}, 8, 2, 6},
		{"down, five minutes", windows{down: 5 * time.Minute}, 8, 2, 8},
		{"down, never above what there is", windows{down: 5 * time.Minute}, 7, 2, 7},
		{"up, nothing older", windows{}, 4, 9, 9},
		{"up, half a minute", windows{up: time.Minute}, 4, 9, 6},
		{"up, three minutes", windows{up: 3 * time.Minute}, 4, 9, 5},
		{"up, never below what there is", windows{up: 3 * time.Minute}, 6, 9, 6},
	}
	for _, tt := range tests {
		if got := h.stabilizedBy(tt.w, tt.current, tt.desired, now); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
	if got := h.stabilized(2, now, 5*time.Minute); got != 8 {
		t.Errorf("without behavior: %d, want 8", got)
	}
	if got := h.stabilized(2, now, time.Minute); got != 6 {
		t.Errorf("without behavior, within a minute: %d, want 6", got)
	}
}

// TestTolerance checks the controller's tolerance, and the autoscaler's own for each
// direction.
func TestTolerance(t *testing.T) {
	own := behavior(func(b *autoscalingv2.HorizontalPodAutoscalerBehavior) {
		b.ScaleUp.Tolerance, b.ScaleDown.Tolerance = ptr.To(resource.MustParse("0.3")), ptr.To(resource.MustParse("0"))
		b.ScaleDown.StabilizationWindowSeconds = ptr.To[int32](0)
	})
	tests := []struct {
		name     string
		behavior *autoscalingv2.HorizontalPodAutoscalerBehavior
		tol      float64
		used     int64
		want     int32
	}{
		{"default, above", nil, 0, 540, 100},
		{"the controller's, above", nil, 0.05, 540, 108},
		{"the controller's is none", nil, -1, 520, 104},
		{"own, above", own, 0, 640, 100},
		{"own, more above", own, 0, 660, 132},
		{"own, below", own, 0, 490, 98},
	}
	for _, tt := range tests {
		in := world{replicas: 100, max: 1000, behavior: tt.behavior, readings: []Reading{each(100, tt.used)}}.build()
		in.Options.Tolerance = tt.tol
		if got := sizeOf(Autoscaler(in, now), 100); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}

// TestHistoryIsBounded checks that a day of decisions keeps no more entries than the
// windows need, and does not change its inputs.
func TestHistoryIsBounded(t *testing.T) {
	b := behavior(func(*autoscalingv2.HorizontalPodAutoscalerBehavior) {})
	h, at, replicas := History{}, now, int32(1)
	for i := range 4 * 60 * 24 {
		at = at.Add(15 * time.Second)
		before := len(h.Recommendations)
		in := world{replicas: replicas, behavior: b, history: h, metrics: []autoscalingv2.MetricSpec{external(target(autoscalingv2.AverageValueMetricType, "1"))}, readings: values(int64(1000 + i%7*1000))}.build()
		d := Autoscaler(in, at)
		if d.Rescale != nil {
			d = Rescaled(in, d, nil, at)
			replicas = d.Rescale.To
		}
		if len(h.Recommendations) != before {
			t.Fatal("the decision changed what it was given")
		}
		h = d.History
	}
	if len(h.Recommendations) > 22 || len(h.Ups) > 3 || len(h.Downs) > 3 {
		t.Errorf("%d recommendations, %d ups and %d downs are remembered", len(h.Recommendations), len(h.Ups), len(h.Downs))
	}
}
