package decide

import (
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// TestZero checks when an autoscaler scales a target to zero, and when it starts it again.
func TestZero(t *testing.T) {
	queue := []autoscalingv2.MetricSpec{external(target(autoscalingv2.AverageValueMetricType, "10"))}
	total := []autoscalingv2.MetricSpec{object(target(autoscalingv2.ValueMetricType, "10"))}
	fast := behavior(func(b *autoscalingv2.HorizontalPodAutoscalerBehavior) {
		b.ScaleDown.StabilizationWindowSeconds = ptr.To[int32](0)
		b.ScaleUp.Policies = []autoscalingv2.HPAScalingPolicy{{Type: autoscalingv2.PodsScalingPolicy, Value: 4, PeriodSeconds: 15}}
	})
	asleep := conditionOf(autoscalingv2.ScaledToZero, corev1.ConditionTrue)
	awake := conditionOf(autoscalingv2.ScaledToZero, corev1.ConditionFalse)
	grown := "external metric queue(nil) above target"
	tests := []struct {
		name   string
		in     world
		floor  int32
		want   int32
		reason string
		// after is the status of the condition ScaledToZero.
		after corev1.ConditionStatus
	}{
		{"nothing to do", world{replicas: 2, metrics: queue, readings: values(0)}, 0, 0, "All metrics below target", corev1.ConditionTrue},
		{"something to do", world{replicas: 2, metrics: queue, readings: values(10_000)}, 0, 1, "All metrics below target", corev1.ConditionFalse},
		{"not below a minimum", world{replicas: 2, metrics: queue, readings: values(0)}, 1, 1, "All metrics below target", corev1.ConditionFalse},
		{"wakes", world{metrics: queue, readings: values(25_000), status: asleep}, 0, 3, grown, corev1.ConditionFalse},
		{"wakes by an object", world{metrics: total, readings: values(25_000), status: asleep}, 0, 3, "Service metric hits above target", corev1.ConditionFalse},
		{"wakes as fast as allowed", world{metrics: queue, readings: values(90_000), status: asleep}, 0, 4, grown, corev1.ConditionFalse},
		{"sleeps on", world{metrics: queue, readings: values(0), status: asleep}, 0, 0, "", corev1.ConditionTrue},
		{"a user scaled it", world{metrics: queue, readings: values(25_000)}, 0, 0, "", ""},
		{"a user scaled it later", world{metrics: queue, readings: values(25_000), status: awake}, 0, 0, "", corev1.ConditionFalse},
		{"a minimum wakes it", world{metrics: queue, readings: values(0), status: asleep}, 2, 2, belowMin, corev1.ConditionFalse},
		{"more than the minimum", world{metrics: queue, readings: values(30_000), status: asleep}, 2, 3, grown, corev1.ConditionFalse},
		{"no metric is known without pods", world{metrics: []autoscalingv2.MetricSpec{cpu(50)}, status: asleep}, 0, 0, "", corev1.ConditionTrue},
	}
	for _, tt := range tests {
		for _, how := range []string{"by default rules", "by behavior"} {
			t.Run(tt.name+" "+how, func(t *testing.T) {
				in := tt.in.build()
				in.Autoscaler.Spec.MinReplicas = &tt.floor
				if in.Autoscaler.Spec.Behavior = nil; how == "by behavior" {
					in.Autoscaler.Spec.Behavior = fast
				}
				in.History = History{Recommendations: []Sized{{tt.in.replicas, now.Add(-time.Hour)}}}
				d := Autoscaler(in, now)
				if got := sizeOf(d, tt.in.replicas); got != tt.want {
					t.Errorf("%d replicas become %d, want %d", tt.in.replicas, got, tt.want)
				}
				if d.Rescale != nil {
					if d.Rescale.Reason != tt.reason {
						t.Errorf("the reason is %q, want %q", d.Rescale.Reason, tt.reason)
					}
					d = Rescaled(in, d, nil, now)
				}
				var after corev1.ConditionStatus
				for _, c := range d.Status.Conditions {
					if c.Type == autoscalingv2.ScaledToZero {
						after = c.Status
					}
				}
				if after != tt.after {
					t.Errorf("ScaledToZero is %q, want %q", after, tt.after)
				}
			})
		}
	}
}

func conditionOf(kind autoscalingv2.HorizontalPodAutoscalerConditionType, status corev1.ConditionStatus) autoscalingv2.HorizontalPodAutoscalerStatus {
	return autoscalingv2.HorizontalPodAutoscalerStatus{Conditions: []autoscalingv2.HorizontalPodAutoscalerCondition{{Type: kind, Status: status}}}
}
