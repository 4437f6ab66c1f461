package controllers_test

import (
	"slices"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// change patches the spec of an autoscaler.
func (c *autoscaledCluster) change(name, spec string) {
	c.t.Helper()
	_, err := c.Client().AutoscalingV2().HorizontalPodAutoscalers("default").Patch(c.t.Context(), name, types.MergePatchType, []byte(`{"spec":`+spec+`}`), metav1.PatchOptions{})
	c.must(err)
}

// TestAutoscalersActAtOnce checks that a new autoscaler and a changed one do not wait for the period,
// and that the period starts again after neither.
func TestAutoscalersActAtOnce(t *testing.T) {
	t.Parallel()
	c := newAutoscaled(t, nil)
	c.pass(time.Minute)
	c.autoscale("web", 10, cpuAt(50))
	c.change("web", `{"minReplicas":3}`)
	c.pass(time.Second)
	if got := c.replicas(); got != 3 {
		t.Fatalf("a second after the creation there are %d replicas, want 3", got)
	}
	c.pass(10 * time.Second)
	c.change("web", `{"minReplicas":5}`)
	c.pass(time.Second)
	if got := c.replicas(); got != 5 {
		t.Errorf("a second after the change there are %d replicas, want 5", got)
	}
	if a := c.autoscaler("web"); ptr.Deref(a.Status.ObservedGeneration, 0) != a.Generation || a.Generation != 3 {
		t.Errorf("generation %d, observed %d, want 3", a.Generation, ptr.Deref(a.Status.ObservedGeneration, 0))
	}
}

// TestScaleToZero checks that an autoscaler scales its target to zero and starts it again
// (KEP-2021), and that it leaves a target alone that a user has scaled to zero.
func TestScaleToZero(t *testing.T) {
	t.Parallel()
	c := newAutoscaled(t, nil)
	queue := func(value string) {
		t.Helper()
		maps := c.Client().CoreV1().ConfigMaps("default")
		m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "queue", Labels: map[string]string{"minikcm.dev/external-metric": "queue"}}, Data: map[string]string{"value": value}}
		if _, err := maps.Update(t.Context(), m, metav1.UpdateOptions{}); err != nil {
			_, err = maps.Create(t.Context(), m, metav1.CreateOptions{})
			c.must(err)
		}
	}
	expect := func(when string, replicas int32, condition string) {
		t.Helper()
		c.pass(time.Minute)
		conditions := c.autoscaler("web").Status.Conditions
		i := slices.IndexFunc(conditions, func(o autoscalingv2.HorizontalPodAutoscalerCondition) bool {
			return o.Type == autoscalingv2.ScaledToZero
		})
		got := ""
		if i >= 0 {
			got = string(conditions[i].Status) + " " + conditions[i].Reason
		}
		if n := c.replicas(); n != replicas || got != condition {
			t.Errorf("%s: %d replicas, ScaledToZero is %q, want %d and %q", when, n, got, replicas, condition)
		}
	}
	queue("0")
	c.autoscale("web", 5, autoscalingv2.MetricSpec{Type: autoscalingv2.ExternalMetricSourceType, External: &autoscalingv2.ExternalMetricSource{
		Metric: autoscalingv2.MetricIdentifier{Name: "queue"},
		Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: ptr.To(resource.MustParse("10"))},
	}})
	c.change("web", `{"minReplicas":0,"behavior":{"scaleDown":{"stabilizationWindowSeconds":0}}}`)
	expect("the queue is empty", 0, "True ScaledToZero")
	queue("25")
	expect("there is work", 3, "False NotScaledToZero")
	_, err := c.Client().AppsV1().Deployments("default").Patch(t.Context(), "web", types.MergePatchType, []byte(`{"spec":{"replicas":0}}`), metav1.PatchOptions{})
	c.must(err)
	expect("a user has scaled it to zero", 0, "False NotScaledToZero")
	c.reports("web", autoscalingv2.ScalingActive, "ScalingDisabled: scaling is disabled since the replica count of the target is zero")
}
