package decide

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

var now = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)

// world is the input of a test's decision; build sets defaults for zero fields.
type world struct {
	min, max int32
	replicas int32
	metrics  []autoscalingv2.MetricSpec
	readings []Reading
	pods     []*corev1.Pod
	behavior *autoscalingv2.HorizontalPodAutoscalerBehavior
	history  History
	selector *string
	rivals   []string
	scaleErr error
	status   autoscalingv2.HorizontalPodAutoscalerStatus
}

func (w world) build() Snapshot {
	if w.min == 0 {
		w.min = 1
	}
	if w.max == 0 {
		w.max = 100
	}
	if w.pods == nil {
		for i := range w.replicas {
			w.pods = append(w.pods, pod(int(i)))
		}
	}
	if w.metrics == nil {
		w.metrics = []autoscalingv2.MetricSpec{cpu(50)}
	}
	return Snapshot{
		Autoscaler: &autoscalingv2.HorizontalPodAutoscaler{
			ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", Generation: 1},
			Spec:       autoscalingv2.HorizontalPodAutoscalerSpec{MinReplicas: &w.min, MaxReplicas: w.max, Metrics: w.metrics, Behavior: w.behavior},
			Status:     w.status,
		},
		Scale: &autoscalingv1.Scale{
			Spec:   autoscalingv1.ScaleSpec{Replicas: w.replicas},
			Status: autoscalingv1.ScaleStatus{Replicas: w.replicas, Selector: ptr.Deref(w.selector, "app=web")},
		},
		ScaleErr: w.scaleErr, Pods: w.pods, Rivals: w.rivals, Readings: w.readings, History: w.history,
	}
}

func name(i int) string { return fmt.Sprintf("web-%d", i) }

// pod returns a pod that has been ready for long and requests a core and a gibibyte.
func pod(i int, changes ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name(i), Namespace: "default", Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("1Gi")},
		}}}},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, StartTime: &metav1.Time{Time: now.Add(-time.Hour)},
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(now.Add(-time.Hour))}},
		},
	}
	for _, change := range changes {
		change(p)
	}
	return p
}

func pending(p *corev1.Pod) { p.Status = corev1.PodStatus{Phase: corev1.PodPending} }

func failedPod(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }

func going(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: now} }

// startedAgo and readySince set a pod's start and its last change of readiness.
func startedAgo(d time.Duration, ready corev1.ConditionStatus, changed time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.StartTime = &metav1.Time{Time: now.Add(-d)}
		p.Status.Conditions[0].Status, p.Status.Conditions[0].LastTransitionTime = ready, metav1.NewTime(now.Add(-changed))
	}
}

func pods(n int, others ...*corev1.Pod) []*corev1.Pod {
	var all []*corev1.Pod
	for i := range n {
		all = append(all, pod(i))
	}
	return append(all, others...)
}

func cpu(percent int32) autoscalingv2.MetricSpec {
	return autoscalingv2.MetricSpec{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
		Name: corev1.ResourceCPU, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &percent},
	}}
}

func averageOfResource(of corev1.ResourceName, value string) autoscalingv2.MetricSpec {
	return autoscalingv2.MetricSpec{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
		Name: of, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: ptr.To(resource.MustParse(value))},
	}}
}

func containerCPU(container string, percent int32) autoscalingv2.MetricSpec {
	return autoscalingv2.MetricSpec{Type: autoscalingv2.ContainerResourceMetricSourceType, ContainerResource: &autoscalingv2.ContainerResourceMetricSource{
		Name: corev1.ResourceCPU, Container: container, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &percent},
	}}
}

func podsMetric(value string) autoscalingv2.MetricSpec {
	return autoscalingv2.MetricSpec{Type: autoscalingv2.PodsMetricSourceType, Pods: &autoscalingv2.PodsMetricSource{
		Metric: autoscalingv2.MetricIdentifier{Name: "qps"},
		Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: ptr.To(resource.MustParse(value))},
	}}
}

func target(kind autoscalingv2.MetricTargetType, value string) autoscalingv2.MetricTarget {
	t, q := autoscalingv2.MetricTarget{Type: kind}, resource.MustParse(value)
	if kind == autoscalingv2.ValueMetricType {
		t.Value = &q
	} else {
		t.AverageValue = &q
	}
	return t
}

func object(t autoscalingv2.MetricTarget) autoscalingv2.MetricSpec {
	return autoscalingv2.MetricSpec{Type: autoscalingv2.ObjectMetricSourceType, Object: &autoscalingv2.ObjectMetricSource{
		DescribedObject: autoscalingv2.CrossVersionObjectReference{Kind: "Service", Name: "web", APIVersion: "v1"},
		Metric:          autoscalingv2.MetricIdentifier{Name: "hits"}, Target: t,
	}}
}

func external(t autoscalingv2.MetricTarget) autoscalingv2.MetricSpec {
	return autoscalingv2.MetricSpec{Type: autoscalingv2.ExternalMetricSourceType, External: &autoscalingv2.ExternalMetricSource{
		Metric: autoscalingv2.MetricIdentifier{Name: "queue"}, Target: t,
	}}
}

// each returns a reading with the same number of thousandths for pods 0 to n-1, in a sample
// that was just taken.
func each(n int, value int64) Reading {
	r := Reading{Pods: map[string]PodMetric{}}
	for i := range n {
		r.Pods[name(i)] = PodMetric{Value: value, Timestamp: now, Window: 15 * time.Second}
	}
	return r
}

func values(all ...int64) []Reading { return []Reading{{Values: all}} }

// TestSizes checks the size that each kind of metric requires, without limits.
func TestSizes(t *testing.T) {
	fast := behavior(func(b *autoscalingv2.HorizontalPodAutoscalerBehavior) {
		b.ScaleUp.Policies[0] = autoscalingv2.HPAScalingPolicy{Type: autoscalingv2.PodsScalingPolicy, Value: math.MaxInt32, PeriodSeconds: 15}
		b.ScaleDown.StabilizationWindowSeconds = ptr.To[int32](0)
	})
	tests := []struct {
		name string
		in   world
		want int32
	}{
		{"twice the utilization", world{replicas: 3, readings: []Reading{each(3, 1000)}}, 6},
		{"rounded up", world{replicas: 3, readings: []Reading{each(3, 600)}}, 4},
		{"half the utilization", world{replicas: 4, readings: []Reading{each(4, 250)}}, 2},
		{"nothing used", world{replicas: 4, readings: []Reading{each(4, 0)}}, 1},
		{"within the tolerance, above", world{replicas: 10, readings: []Reading{each(10, 550)}}, 10},
		{"within the tolerance, below", world{replicas: 10, readings: []Reading{each(10, 450)}}, 10},
		{"just above the tolerance", world{replicas: 10, readings: []Reading{each(10, 560)}}, 12},
		{"just below the tolerance", world{replicas: 10, readings: []Reading{each(10, 440)}}, 9},
		{"average value of CPU", world{replicas: 2, metrics: []autoscalingv2.MetricSpec{averageOfResource("cpu", "100m")}, readings: []Reading{each(2, 300)}}, 6},
		{"average value of memory", world{replicas: 2, metrics: []autoscalingv2.MetricSpec{averageOfResource("memory", "64Mi")}, readings: []Reading{each(2, 128<<20*1000)}}, 4},
		{"one container", world{replicas: 2, metrics: []autoscalingv2.MetricSpec{containerCPU("web", 50)}, readings: []Reading{each(2, 1000)}}, 4},
		{"pods metric", world{replicas: 2, metrics: []autoscalingv2.MetricSpec{podsMetric("10")}, readings: []Reading{each(2, 25000)}}, 5},
		{"object metric, value", world{replicas: 2, metrics: []autoscalingv2.MetricSpec{object(target(autoscalingv2.ValueMetricType, "100"))}, readings: values(250_000)}, 5},
		{"object metric, average value", world{replicas: 2, metrics: []autoscalingv2.MetricSpec{object(target(autoscalingv2.AverageValueMetricType, "100"))}, readings: values(750_000)}, 8},
		{"object metric within the tolerance", world{replicas: 7, metrics: []autoscalingv2.MetricSpec{object(target(autoscalingv2.AverageValueMetricType, "100"))}, readings: values(750_000)}, 7},
		{"external metric, value", world{replicas: 2, metrics: []autoscalingv2.MetricSpec{external(target(autoscalingv2.ValueMetricType, "100"))}, readings: values(250_000)}, 5},
		{"external metric, average value, several series", world{replicas: 2, metrics: []autoscalingv2.MetricSpec{external(target(autoscalingv2.AverageValueMetricType, "10"))}, readings: values(20_000, 30_000)}, 5},
		{"the largest of several", world{replicas: 2, metrics: []autoscalingv2.MetricSpec{cpu(50), podsMetric("10")}, readings: []Reading{each(2, 600), each(2, 40_000)}}, 8},
		{"one grows, one shrinks", world{replicas: 4, metrics: []autoscalingv2.MetricSpec{cpu(50), podsMetric("10")}, readings: []Reading{each(4, 600), each(4, 0)}}, 5},
		{"one fails, the other grows", world{replicas: 2, metrics: []autoscalingv2.MetricSpec{cpu(50), podsMetric("10")}, readings: []Reading{{Err: errors.New("no")}, each(2, 40_000)}}, 8},
		{"one fails, the other shrinks", world{replicas: 4, metrics: []autoscalingv2.MetricSpec{cpu(50), podsMetric("10")}, readings: []Reading{{Err: errors.New("no")}, each(4, 1000)}}, 4},
		{"missing pods count as idle when it grows", world{replicas: 4, readings: []Reading{each(2, 1500)}}, 6},
		{"missing pods would turn growth round", world{replicas: 4, readings: []Reading{each(2, 600)}}, 4},
		{"missing pods count as busy when it shrinks", world{replicas: 4, readings: []Reading{each(3, 100)}}, 3},
		{"missing pods would turn shrinking round", world{replicas: 4, readings: []Reading{each(2, 400)}}, 4},
		{"pending pods count as idle when it grows", world{replicas: 3, pods: pods(2, pod(2, pending)), readings: []Reading{each(2, 1500)}}, 6},
		{"pending pods do not count when it shrinks", world{replicas: 5, pods: pods(4, pod(4, pending)), readings: []Reading{each(4, 250)}}, 2},
		{"failed and going pods do not count", world{replicas: 4, pods: pods(2, pod(2, failedPod), pod(3, going)), readings: []Reading{each(4, 1000)}}, 4},
		{"a pod that is not ready yet", world{replicas: 3, pods: pods(2, pod(2, startedAgo(time.Minute, corev1.ConditionFalse, time.Minute))), readings: []Reading{each(3, 1000)}}, 4},
		{"a pod that has just become ready", world{replicas: 3, pods: pods(2, pod(2, startedAgo(time.Minute, corev1.ConditionTrue, 5*time.Second))), readings: []Reading{each(3, 1000)}}, 4},
		{"a pod that was ready for a whole window", world{replicas: 3, pods: pods(2, pod(2, startedAgo(time.Minute, corev1.ConditionTrue, 20*time.Second))), readings: []Reading{each(3, 1000)}}, 6},
		{"a pod that has never been ready", world{replicas: 3, pods: pods(2, pod(2, startedAgo(time.Hour, corev1.ConditionFalse, time.Hour-10*time.Second))), readings: []Reading{each(3, 1000)}}, 4},
		{"a pod that was ready once", world{replicas: 3, pods: pods(2, pod(2, startedAgo(time.Hour, corev1.ConditionFalse, time.Minute))), readings: []Reading{each(3, 1000)}}, 6},
		{"of memory all running pods count", world{replicas: 3, metrics: []autoscalingv2.MetricSpec{averageOfResource("memory", "1")}, pods: pods(2, pod(2, startedAgo(time.Minute, corev1.ConditionFalse, time.Minute))), readings: []Reading{each(3, 2000)}}, 6},
		{"more than an int32", world{replicas: 2, max: 1 << 30, metrics: []autoscalingv2.MetricSpec{external(target(autoscalingv2.AverageValueMetricType, "1m"))}, readings: values(1<<62, 1<<62)}, 1 << 30},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.in.behavior == nil {
				tt.in.behavior = fast
			}
			if got := sizeOf(Autoscaler(tt.in.build(), now), tt.in.replicas); got != tt.want {
				t.Errorf("%d replicas become %d, want %d", tt.in.replicas, got, tt.want)
			}
		})
	}
}

func sizeOf(d Decision, current int32) int32 {
	if d.Rescale == nil {
		return current
	}
	return d.Rescale.To
}

// behavior returns a behavior that hardly limits, after change.
func behavior(change func(*autoscalingv2.HorizontalPodAutoscalerBehavior)) *autoscalingv2.HorizontalPodAutoscalerBehavior {
	b := &autoscalingv2.HorizontalPodAutoscalerBehavior{
		ScaleUp: &autoscalingv2.HPAScalingRules{
			StabilizationWindowSeconds: ptr.To[int32](0), SelectPolicy: ptr.To(autoscalingv2.MaxChangePolicySelect),
			Policies: []autoscalingv2.HPAScalingPolicy{{Type: autoscalingv2.PercentScalingPolicy, Value: 100, PeriodSeconds: 15}},
		},
		ScaleDown: &autoscalingv2.HPAScalingRules{
			SelectPolicy: ptr.To(autoscalingv2.MaxChangePolicySelect),
			Policies:     []autoscalingv2.HPAScalingPolicy{{Type: autoscalingv2.PercentScalingPolicy, Value: 100, PeriodSeconds: 15}},
		},
	}
	change(b)
	return b
}

// TestOutside checks the bounds, and inputs that do not determine a size.
func TestOutside(t *testing.T) {
	tests := []struct {
		name   string
		in     world
		want   int32
		reason string
	}{
		{"above the maximum", world{replicas: 12, max: 10}, 10, "Current number of replicas above Spec.MaxReplicas"},
		{"below the minimum", world{replicas: 2, min: 3}, 3, "Current number of replicas below Spec.MinReplicas"},
		{"none", world{replicas: 0, readings: []Reading{each(0, 0)}}, 0, ""},
		{"no scale", world{replicas: 2, scaleErr: errors.New("gone")}, 2, ""},
		{"no selector", world{replicas: 2, selector: ptr.To(""), readings: []Reading{each(2, 1000)}}, 2, ""},
		{"a bad selector", world{replicas: 2, selector: ptr.To("a=b=c"), readings: []Reading{each(2, 1000)}}, 2, ""},
		{"pods of two autoscalers", world{replicas: 2, rivals: []string{"{a default}", "{b default}"}, readings: []Reading{each(2, 1000)}}, 2, ""},
		{"no metrics", world{replicas: 2, readings: []Reading{{Err: errors.New("no")}}}, 2, ""},
		{"no pods", world{replicas: 2, pods: []*corev1.Pod{}, readings: []Reading{each(2, 1000)}}, 2, ""},
		{"only pending pods", world{replicas: 1, pods: []*corev1.Pod{pod(0, pending)}, readings: []Reading{each(1, 1000)}}, 1, ""},
		{"no requests", world{replicas: 1, pods: []*corev1.Pod{pod(0, func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Requests = nil })}, readings: []Reading{each(1, 1000)}}, 1, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := Autoscaler(tt.in.build(), now)
			if got := sizeOf(d, tt.in.replicas); got != tt.want {
				t.Errorf("%d replicas become %d, want %d", tt.in.replicas, got, tt.want)
			}
			if d.Rescale != nil && d.Rescale.Reason != tt.reason {
				t.Errorf("the reason is %q, want %q", d.Rescale.Reason, tt.reason)
			}
		})
	}
}

// said formats the conditions and events of a decision, one per line.
func said(d Decision) string {
	var lines []string
	for _, c := range d.Status.Conditions {
		lines = append(lines, fmt.Sprintf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message))
	}
	for _, e := range d.Events {
		lines = append(lines, fmt.Sprintf("%s %s: %s", e.Type, e.Reason, e.Message))
	}
	return strings.Join(lines, "\n")
}

const (
	able   = "AbleToScale=True SucceededGetScale: the HPA controller was able to get the target's current scale\n"
	unable = "ScalingActive=False %[1]s: the HPA was unable to compute the replica count: %[2]s\nWarning %[1]s: %[2]s\n" +
		"Warning FailedComputeMetricsReplicas: invalid metrics (1 invalid out of 1), first error is: "
	active  = "\nScalingActive=True ValidMetricFound: the HPA was able to successfully calculate a replica count from "
	percent = "cpu resource utilization (percentage of request)"
	inRange = "\nScalingLimited=False DesiredWithinRange: the desired count is within the acceptable range"
	noNews  = "AbleToScale=True ReadyForNewScale: recommended size matches current size"
	resized = "AbleToScale=True SucceededRescale: the HPA controller was able to update the target scale to "
	notZero = "\nScaledToZero=False NotScaledToZero: the HPA controller did not scale the workload to zero"
)

// TestWords checks that conditions and events have upstream's texts.
func TestWords(t *testing.T) {
	refused := []Reading{{Err: errors.New("no metrics returned from resource metrics API")}}
	tests := []struct {
		name string
		in   world
		want string
	}{
		{"nothing to do", world{replicas: 2, readings: []Reading{each(2, 500)}}, noNews + active + percent + inRange},
		{
			"grows",
			world{replicas: 2, readings: []Reading{each(2, 1000)}},
			resized + "4" + active + percent + inRange + notZero + "\nNormal SuccessfulRescale: New size: 4; reason: " + percent + " above target",
		},
		{
			"shrinks",
			world{replicas: 4, readings: []Reading{each(4, 250)}, behavior: behavior(func(b *autoscalingv2.HorizontalPodAutoscalerBehavior) {
				b.ScaleDown.StabilizationWindowSeconds = ptr.To[int32](0)
			})},
			resized + "2" + active + percent + inRange + notZero + "\nNormal SuccessfulRescale: New size: 2; reason: All metrics below target",
		},
		{
			"above the maximum",
			world{replicas: 4, max: 5, readings: []Reading{each(4, 1000)}},
			resized + "5" + active + percent + "\nScalingLimited=True TooManyReplicas: the desired replica count is more than the maximum replica count" + notZero +
				"\nNormal SuccessfulRescale: New size: 5; reason: " + percent + " above target",
		},
		{
			"too fast",
			world{replicas: 3, readings: []Reading{each(3, 5000)}},
			resized + "6" + active + percent + "\nScalingLimited=True ScaleUpLimit: the desired replica count is increasing faster than the maximum scale rate" + notZero +
				"\nNormal SuccessfulRescale: New size: 6; reason: " + percent + " above target",
		},
		{
			"below the minimum",
			world{replicas: 2, min: 2, readings: []Reading{each(2, 0)}, history: History{Recommendations: []Sized{{0, now}}}},
			noNews + active + percent + "\nScalingLimited=True TooFewReplicas: the desired replica count is less than the minimum replica count",
		},
		{
			"stabilized",
			world{replicas: 4, readings: []Reading{each(4, 250)}, history: History{Recommendations: []Sized{{4, now.Add(-time.Minute)}}}},
			"AbleToScale=True ScaleDownStabilized: recent recommendations were higher than current one, applying the highest recent recommendation" +
				active + percent + inRange,
		},
		{
			"no scale",
			world{scaleErr: errors.New(`deployments.apps "web" not found`)},
			"AbleToScale=False FailedGetScale: the HPA controller was unable to get the target's current scale: deployments.apps \"web\" not found\n" +
				"Warning FailedGetScale: deployments.apps \"web\" not found",
		},
		{"none", world{}, able + "ScalingActive=False ScalingDisabled: scaling is disabled since the replica count of the target is zero"},
		{
			"no metrics",
			world{replicas: 2, readings: refused},
			able + fmt.Sprintf(unable, "FailedGetResourceMetric",
				"failed to get cpu utilization: unable to get metrics for resource cpu: no metrics returned from resource metrics API") +
				"failed to get cpu resource metric value: failed to get cpu utilization: unable to get metrics for resource cpu: no metrics returned from resource metrics API",
		},
		{
			"no requests",
			world{replicas: 1, readings: []Reading{each(1, 1000)}, pods: []*corev1.Pod{pod(0, func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Requests = nil })}},
			able + fmt.Sprintf(unable, "FailedGetResourceMetric", "failed to get cpu utilization: missing request for cpu in container web of Pod web-0") +
				"failed to get cpu resource metric value: failed to get cpu utilization: missing request for cpu in container web of Pod web-0",
		},
		{
			"no container",
			world{replicas: 1, metrics: []autoscalingv2.MetricSpec{containerCPU("app", 50)}, readings: []Reading{each(1, 1000)}},
			able + fmt.Sprintf(unable, "FailedGetContainerResourceMetric", "failed to get cpu utilization: container app not found in Pod web-0") +
				"failed to get app container metric value: failed to get cpu utilization: container app not found in Pod web-0",
		},
		{
			"no usage",
			world{replicas: 2, metrics: []autoscalingv2.MetricSpec{averageOfResource("memory", "1")}, readings: refused},
			able + fmt.Sprintf(unable, "FailedGetResourceMetric",
				"failed to get memory usage: unable to get metrics for resource memory: no metrics returned from resource metrics API") +
				"failed to get memory resource metric value: failed to get memory usage: unable to get metrics for resource memory: no metrics returned from resource metrics API",
		},
		{
			"no pods metric",
			world{replicas: 2, metrics: []autoscalingv2.MetricSpec{podsMetric("1")}, readings: []Reading{{Err: errors.New("unable to fetch")}}},
			able + fmt.Sprintf(unable, "FailedGetPodsMetric", "unable to get metric qps: unable to fetch") +
				"failed to get pods metric value: unable to get metric qps: unable to fetch",
		},
		{
			"no object metric",
			world{replicas: 2, metrics: []autoscalingv2.MetricSpec{object(target(autoscalingv2.ValueMetricType, "1"))}, readings: []Reading{{Err: errors.New("unable to fetch")}}},
			able + fmt.Sprintf(unable, "FailedGetObjectMetric", "unable to get metric hits: unable to fetch on Service default/web") +
				"failed to get object metric value: unable to get metric hits: unable to fetch on Service default/web",
		},
		{
			"no external metric",
			world{replicas: 2, metrics: []autoscalingv2.MetricSpec{external(target(autoscalingv2.ValueMetricType, "1"))}, readings: []Reading{{Err: errors.New("unable to fetch")}}},
			able + fmt.Sprintf(unable, "FailedGetExternalMetric", "failed to get external metric queue: unable to get external metric default/queue/nil: unable to fetch") +
				"failed to get queue external metric value: failed to get external metric queue: unable to get external metric default/queue/nil: unable to fetch",
		},
		{
			"no selector",
			world{replicas: 2, selector: ptr.To("")},
			able + "ScalingActive=False InvalidSelector: the HPA target's scale is missing a selector\n" +
				"Warning SelectorRequired: selector is required\nWarning FailedComputeMetricsReplicas: selector is required",
		},
		{
			"two autoscalers",
			world{replicas: 2, rivals: []string{"{a default}", "{web default}"}},
			able + "ScalingActive=False AmbiguousSelector: pods by selector app=web are controlled by more than one HPA (e.g. [{a default} {web default}])\n" +
				"Warning AmbiguousSelector: pods by selector app=web are controlled by more than one HPA (e.g. [{a default} {web default}])\n" +
				"Warning FailedComputeMetricsReplicas: pods by selector app=web are controlled by more than one HPA (e.g. [{a default} {web default}])",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := tt.in.build()
			d := Autoscaler(in, now)
			if d.Rescale != nil {
				d = Rescaled(in, d, nil, now)
			}
			if diff := cmp.Diff(tt.want, said(d)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestStatus checks the other fields of a status.
func TestStatus(t *testing.T) {
	last := metav1.NewTime(now.Add(-time.Hour))
	in := world{replicas: 2, readings: []Reading{each(2, 1000)}, status: autoscalingv2.HorizontalPodAutoscalerStatus{LastScaleTime: &last, DesiredReplicas: 2}}.build()
	d := Autoscaler(in, now)
	current := d.Status.CurrentMetrics[0].Resource.Current
	if *current.AverageUtilization != 100 || current.AverageValue.String() != "1" {
		t.Errorf("the metric is %+v", current)
	}
	done := Rescaled(in, d, nil, now)
	if s := done.Status; s.CurrentReplicas != 2 || s.DesiredReplicas != 4 || !s.LastScaleTime.Time.Equal(now) || *s.ObservedGeneration != 1 {
		t.Errorf("scaled, the status is %+v", s)
	}
	failed := Rescaled(in, d, errors.New("no"), now)
	if s := failed.Status; s.CurrentReplicas != 2 || s.DesiredReplicas != 2 || !s.LastScaleTime.Equal(&last) {
		t.Errorf("not scaled, the status is %+v", s)
	}
	if text := said(failed); !strings.Contains(text, "AbleToScale=False FailedUpdateScale: the HPA controller was unable to update the target scale: no") ||
		!strings.Contains(text, "Warning FailedRescale: New size: 4; reason: "+percent+" above target; error: no") {
		t.Error(text)
	}
	if len(failed.History.Ups) != 0 {
		t.Error("a size that was not written is remembered as if it was")
	}
}
