package resources

import (
	"encoding/json"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// annotate writes value, a list of n items, as JSON into an annotation; for n = 0 it
// writes nothing. The types are the API's, which can always be encoded.
func annotate(annotations map[string]string, key string, value any, n int) {
	if n == 0 {
		return
	}
	if text, err := json.Marshal(value); err == nil {
		annotations[key] = string(text)
	}
}

// fromAnnotation parses an annotation of annotate; an invalid one counts as absent, as
// upstream.
func fromAnnotation[T any](text string) T {
	var value, none T
	if text == "" || json.Unmarshal([]byte(text), &value) != nil {
		return none
	}
	return value
}

func withoutAnnotations(annotations map[string]string, keys ...string) map[string]string {
	rest := copyOf(annotations)
	for _, key := range keys {
		delete(rest, key)
	}
	if len(rest) == 0 {
		return nil
	}
	return rest
}

func cpuUtilization(target int32) autoscalingv2.MetricSpec {
	return autoscalingv2.MetricSpec{
		Type: autoscalingv2.ResourceMetricSourceType,
		Resource: &autoscalingv2.ResourceMetricSource{
			Name:   corev1.ResourceCPU,
			Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &target},
		},
	}
}

func currentCPUUtilization(current int32) autoscalingv2.MetricStatus {
	return autoscalingv2.MetricStatus{
		Type: autoscalingv2.ResourceMetricSourceType,
		Resource: &autoscalingv2.ResourceMetricStatus{
			Name:    corev1.ResourceCPU,
			Current: autoscalingv2.MetricValueStatus{AverageUtilization: &current},
		},
	}
}

// cpuTarget returns the target of the one metric for which autoscaling/v1 has a field.
func cpuTarget(m *autoscalingv2.MetricSpec) *int32 {
	if m.Type != autoscalingv2.ResourceMetricSourceType || m.Resource == nil || m.Resource.Name != corev1.ResourceCPU {
		return nil
	}
	return m.Resource.Target.AverageUtilization
}

func currentCPU(s *autoscalingv2.MetricStatus) *int32 {
	if s.Type != autoscalingv2.ResourceMetricSourceType || s.Resource == nil || s.Resource.Name != corev1.ResourceCPU {
		return nil
	}
	return s.Resource.Current.AverageUtilization
}

func metricsToV2(text string) []autoscalingv2.MetricSpec {
	var metrics []autoscalingv2.MetricSpec
	for _, m := range fromAnnotation[[]autoscalingv1.MetricSpec](text) {
		metrics = append(metrics, metricToV2(&m))
	}
	return metrics
}

func metricToV2(m *autoscalingv1.MetricSpec) autoscalingv2.MetricSpec {
	to := autoscalingv2.MetricSpec{Type: autoscalingv2.MetricSourceType(m.Type)}
	if o := m.Object; o != nil {
		to.Object = &autoscalingv2.ObjectMetricSource{
			DescribedObject: autoscalingv2.CrossVersionObjectReference(o.Target),
			Metric:          autoscalingv2.MetricIdentifier{Name: o.MetricName, Selector: o.Selector},
			Target:          rawTarget(valueOrNil(o.TargetValue), o.AverageValue),
		}
	}
	if p := m.Pods; p != nil {
		to.Pods = &autoscalingv2.PodsMetricSource{
			Metric: autoscalingv2.MetricIdentifier{Name: p.MetricName, Selector: p.Selector},
			Target: rawTarget(nil, &p.TargetAverageValue),
		}
	}
	if r := m.Resource; r != nil {
		to.Resource = &autoscalingv2.ResourceMetricSource{Name: r.Name, Target: podTarget(r.TargetAverageUtilization, r.TargetAverageValue)}
	}
	if c := m.ContainerResource; c != nil {
		to.ContainerResource = &autoscalingv2.ContainerResourceMetricSource{
			Name: c.Name, Container: c.Container, Target: podTarget(c.TargetAverageUtilization, c.TargetAverageValue),
		}
	}
	if e := m.External; e != nil {
		to.External = &autoscalingv2.ExternalMetricSource{
			Metric: autoscalingv2.MetricIdentifier{Name: e.MetricName, Selector: e.MetricSelector},
			Target: rawTarget(e.TargetValue, e.TargetAverageValue),
		}
	}
	return to
}

func valueOrNil(q resource.Quantity) *resource.Quantity {
	if q.IsZero() {
		return nil
	}
	return &q
}

// rawTarget returns the target of a metric that is a quantity, in total or averaged per
// pod.
func rawTarget(value, average *resource.Quantity) autoscalingv2.MetricTarget {
	t := autoscalingv2.MetricTarget{Type: autoscalingv2.ValueMetricType, Value: value, AverageValue: average}
	if value == nil || average != nil {
		t.Type = autoscalingv2.AverageValueMetricType
	}
	return t
}

// podTarget returns the target of a pod resource, relative to the requests or absolute.
func podTarget(utilization *int32, average *resource.Quantity) autoscalingv2.MetricTarget {
	t := autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageUtilization: utilization, AverageValue: average}
	if utilization != nil {
		t.Type = autoscalingv2.UtilizationMetricType
	}
	return t
}

func metricFromV2(m *autoscalingv2.MetricSpec) autoscalingv1.MetricSpec {
	from := autoscalingv1.MetricSpec{Type: autoscalingv1.MetricSourceType(m.Type)}
	if o := m.Object; o != nil {
		from.Object = &autoscalingv1.ObjectMetricSource{
			Target:       autoscalingv1.CrossVersionObjectReference(o.DescribedObject),
			MetricName:   o.Metric.Name,
			Selector:     o.Metric.Selector,
			TargetValue:  ptr.Deref(o.Target.Value, resource.Quantity{}),
			AverageValue: o.Target.AverageValue,
		}
	}
	if p := m.Pods; p != nil {
		from.Pods = &autoscalingv1.PodsMetricSource{
			MetricName: p.Metric.Name, Selector: p.Metric.Selector, TargetAverageValue: ptr.Deref(p.Target.AverageValue, resource.Quantity{}),
		}
	}
	if r := m.Resource; r != nil {
		from.Resource = &autoscalingv1.ResourceMetricSource{
			Name: r.Name, TargetAverageUtilization: r.Target.AverageUtilization, TargetAverageValue: r.Target.AverageValue,
		}
	}
	if c := m.ContainerResource; c != nil {
		from.ContainerResource = &autoscalingv1.ContainerResourceMetricSource{
			Name: c.Name, Container: c.Container,
			TargetAverageUtilization: c.Target.AverageUtilization, TargetAverageValue: c.Target.AverageValue,
		}
	}
	if e := m.External; e != nil {
		from.External = &autoscalingv1.ExternalMetricSource{
			MetricName: e.Metric.Name, MetricSelector: e.Metric.Selector, TargetValue: e.Target.Value, TargetAverageValue: e.Target.AverageValue,
		}
	}
	return from
}

func statusesToV2(text string) []autoscalingv2.MetricStatus {
	var statuses []autoscalingv2.MetricStatus
	for _, s := range fromAnnotation[[]autoscalingv1.MetricStatus](text) {
		statuses = append(statuses, statusToV2(&s))
	}
	return statuses
}

func statusToV2(s *autoscalingv1.MetricStatus) autoscalingv2.MetricStatus {
	to := autoscalingv2.MetricStatus{Type: autoscalingv2.MetricSourceType(s.Type)}
	if o := s.Object; o != nil {
		to.Object = &autoscalingv2.ObjectMetricStatus{
			DescribedObject: autoscalingv2.CrossVersionObjectReference(o.Target),
			Metric:          autoscalingv2.MetricIdentifier{Name: o.MetricName, Selector: o.Selector},
			Current:         autoscalingv2.MetricValueStatus{Value: &o.CurrentValue, AverageValue: o.AverageValue},
		}
	}
	if p := s.Pods; p != nil {
		to.Pods = &autoscalingv2.PodsMetricStatus{
			Metric:  autoscalingv2.MetricIdentifier{Name: p.MetricName, Selector: p.Selector},
			Current: autoscalingv2.MetricValueStatus{AverageValue: &p.CurrentAverageValue},
		}
	}
	if r := s.Resource; r != nil {
		to.Resource = &autoscalingv2.ResourceMetricStatus{
			Name: r.Name, Current: autoscalingv2.MetricValueStatus{AverageUtilization: r.CurrentAverageUtilization, AverageValue: &r.CurrentAverageValue},
		}
	}
	if c := s.ContainerResource; c != nil {
		to.ContainerResource = &autoscalingv2.ContainerResourceMetricStatus{
			Name: c.Name, Container: c.Container,
			Current: autoscalingv2.MetricValueStatus{AverageUtilization: c.CurrentAverageUtilization, AverageValue: &c.CurrentAverageValue},
		}
	}
	if e := s.External; e != nil {
		to.External = &autoscalingv2.ExternalMetricStatus{
			Metric:  autoscalingv2.MetricIdentifier{Name: e.MetricName, Selector: e.MetricSelector},
			Current: autoscalingv2.MetricValueStatus{Value: &e.CurrentValue, AverageValue: e.CurrentAverageValue},
		}
	}
	return to
}

func statusFromV2(s *autoscalingv2.MetricStatus) autoscalingv1.MetricStatus {
	from := autoscalingv1.MetricStatus{Type: autoscalingv1.MetricSourceType(s.Type)}
	if o := s.Object; o != nil {
		from.Object = &autoscalingv1.ObjectMetricStatus{
			Target:       autoscalingv1.CrossVersionObjectReference(o.DescribedObject),
			MetricName:   o.Metric.Name,
			Selector:     o.Metric.Selector,
			CurrentValue: ptr.Deref(o.Current.Value, resource.Quantity{}),
			AverageValue: o.Current.AverageValue,
		}
	}
	if p := s.Pods; p != nil {
		from.Pods = &autoscalingv1.PodsMetricStatus{
			MetricName: p.Metric.Name, Selector: p.Metric.Selector, CurrentAverageValue: ptr.Deref(p.Current.AverageValue, resource.Quantity{}),
		}
	}
	if r := s.Resource; r != nil {
		from.Resource = &autoscalingv1.ResourceMetricStatus{
			Name: r.Name, CurrentAverageUtilization: r.Current.AverageUtilization, CurrentAverageValue: ptr.Deref(r.Current.AverageValue, resource.Quantity{}),
		}
	}
	if c := s.ContainerResource; c != nil {
		from.ContainerResource = &autoscalingv1.ContainerResourceMetricStatus{
			Name: c.Name, Container: c.Container,
			CurrentAverageUtilization: c.Current.AverageUtilization, CurrentAverageValue: ptr.Deref(c.Current.AverageValue, resource.Quantity{}),
		}
	}
	if e := s.External; e != nil {
		from.External = &autoscalingv1.ExternalMetricStatus{
			MetricName: e.Metric.Name, MetricSelector: e.Metric.Selector,
			CurrentValue: ptr.Deref(e.Current.Value, resource.Quantity{}), CurrentAverageValue: e.Current.AverageValue,
		}
	}
	return from
}

func conditionsToV2(text string) []autoscalingv2.HorizontalPodAutoscalerCondition {
	var conditions []autoscalingv2.HorizontalPodAutoscalerCondition
	for _, c := range fromAnnotation[[]autoscalingv1.HorizontalPodAutoscalerCondition](text) {
		conditions = append(conditions, autoscalingv2.HorizontalPodAutoscalerCondition{
			Type: autoscalingv2.HorizontalPodAutoscalerConditionType(c.Type), Status: c.Status, LastTransitionTime: c.LastTransitionTime,
			Reason: c.Reason, Message: c.Message, ObservedGeneration: c.ObservedGeneration,
		})
	}
	return conditions
}

func conditionsFromV2(conditions []autoscalingv2.HorizontalPodAutoscalerCondition) []autoscalingv1.HorizontalPodAutoscalerCondition {
	var from []autoscalingv1.HorizontalPodAutoscalerCondition
	for _, c := range conditions {
		from = append(from, autoscalingv1.HorizontalPodAutoscalerCondition{
			Type: autoscalingv1.HorizontalPodAutoscalerConditionType(c.Type), Status: c.Status,
			LastTransitionTime: metav1.NewTime(c.LastTransitionTime.Time), Reason: c.Reason, Message: c.Message, ObservedGeneration: c.ObservedGeneration,
		})
	}
	return from
}

// behaviorForm is the encoding of a behavior in the annotation: upstream writes it from
// types without JSON names. The API's own type can decode it, because decoding ignores
// case.
type behaviorForm struct {
	ScaleUp, ScaleDown *scalingRulesForm
}

type scalingRulesForm struct {
	StabilizationWindowSeconds *int32
	SelectPolicy               *autoscalingv2.ScalingPolicySelect
	Policies                   []scalingPolicyForm
	Tolerance                  *resource.Quantity
}

type scalingPolicyForm struct {
	Type          autoscalingv2.HPAScalingPolicyType
	Value         int32
	PeriodSeconds int32
}

func behaviorText(b *autoscalingv2.HorizontalPodAutoscalerBehavior) behaviorForm {
	return behaviorForm{ScaleUp: rulesForm(b.ScaleUp), ScaleDown: rulesForm(b.ScaleDown)}
}

func rulesForm(r *autoscalingv2.HPAScalingRules) *scalingRulesForm {
	if r == nil {
		return nil
	}
	form := &scalingRulesForm{StabilizationWindowSeconds: r.StabilizationWindowSeconds, SelectPolicy: r.SelectPolicy, Tolerance: r.Tolerance}
	for _, p := range r.Policies {
		form.Policies = append(form.Policies, scalingPolicyForm(p))
	}
	return form
}

func behaviorFrom(text string) *autoscalingv2.HorizontalPodAutoscalerBehavior {
	return fromAnnotation[*autoscalingv2.HorizontalPodAutoscalerBehavior](text)
}
