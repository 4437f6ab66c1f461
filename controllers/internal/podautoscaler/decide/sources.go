package decide

import (
	"errors"
	"fmt"
	"math"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Reading is the API's answer for one metric of an autoscaler.
type Reading struct {
	// Pods holds the values by pod name (Resource, ContainerResource, Pods).
	Pods map[string]PodMetric
	// Values are in thousandths: one (Object), or one for each series (External).
	Values []int64
	// Err is the error if nothing could be read.
	Err error
}

// proposal is the size that one metric requires.
type proposal struct {
	replicas int32
	// name describes the metric in the event if it makes the target grow.
	name   string
	status autoscalingv2.MetricStatus
}

// failure is the reason for which a metric determines no size.
type failure struct {
	// reason is the reason of the event and of the condition ScalingActive, cause their message;
	// err is the error of the metric in the aggregate over all metrics.
	reason string
	cause  error
	err    error
}

// scaling is the common input of all metrics of one decision.
type scaling struct {
	opts       *Options
	now        time.Time
	namespace  string
	pods       []*corev1.Pod
	tol        tolerance
	spec, size int32 // the replicas in the spec and the status of the target's scale
}

// propose calculates the size that one metric requires. The texts are upstream's.
func (s *scaling) propose(m *autoscalingv2.MetricSpec, r Reading) (proposal, *failure) {
	switch {
	case m.Type == autoscalingv2.ResourceMetricSourceType && m.Resource != nil:
		p, current, err := s.resource(m.Resource.Name, "", m.Resource.Target, r, "%s resource utilization (percentage of request)")
		if err != nil {
			return p, &failure{"FailedGetResourceMetric", err, fmt.Errorf("failed to get %s resource metric value: %w", m.Resource.Name, err)}
		}
		p.status = autoscalingv2.MetricStatus{Type: m.Type, Resource: &autoscalingv2.ResourceMetricStatus{Name: m.Resource.Name, Current: current}}
		return p, nil
	case m.Type == autoscalingv2.ContainerResourceMetricSourceType && m.ContainerResource != nil:
		c := m.ContainerResource
		p, current, err := s.resource(c.Name, c.Container, c.Target, r, "%s container resource utilization (percentage of request)")
		if err != nil {
			return p, &failure{"FailedGetContainerResourceMetric", err, fmt.Errorf("failed to get %s container metric value: %w", c.Container, err)}
		}
		p.status = autoscalingv2.MetricStatus{
			Type:              m.Type,
			ContainerResource: &autoscalingv2.ContainerResourceMetricStatus{Name: c.Name, Container: c.Container, Current: current},
		}
		return p, nil
	case m.Type == autoscalingv2.PodsMetricSourceType && m.Pods != nil:
		return s.podsMetric(m.Pods, r)
	case m.Type == autoscalingv2.ObjectMetricSourceType && m.Object != nil:
		return s.objectMetric(m.Object, r)
	case m.Type == autoscalingv2.ExternalMetricSourceType && m.External != nil:
		return s.externalMetric(m.External, r)
	}
	err := fmt.Errorf("unknown metric source type %q", string(m.Type))
	return proposal{}, &failure{"InvalidMetricSourceType", err, err}
}

// resource scales by the pods' usage of a resource, absolute or relative to their requests.
func (s *scaling) resource(name corev1.ResourceName, container string, target autoscalingv2.MetricTarget, r Reading, title string) (proposal, autoscalingv2.MetricValueStatus, error) {
	if target.AverageValue != nil {
		replicas, used, err := s.average(name, target.AverageValue.MilliValue(), r, fmt.Sprintf("resource %s", name))
		if err != nil {
			return proposal{}, autoscalingv2.MetricValueStatus{}, fmt.Errorf("failed to get %s usage: %w", name, err)
		}
		return proposal{replicas: replicas, name: fmt.Sprintf("%s resource", name)},
			autoscalingv2.MetricValueStatus{AverageValue: quantityOf(name, used)}, nil
	}
	if target.AverageUtilization == nil {
		return proposal{}, autoscalingv2.MetricValueStatus{},
			errors.New("invalid resource metric source: neither an average utilization target nor an average value (usage) target was set")
	}
	replicas, percent, used, err := s.utilization(name, container, *target.AverageUtilization, r)
	if err != nil {
		return proposal{}, autoscalingv2.MetricValueStatus{}, fmt.Errorf("failed to get %s utilization: %w", name, err)
	}
	return proposal{replicas: replicas, name: fmt.Sprintf(title, name)},
		autoscalingv2.MetricValueStatus{AverageUtilization: &percent, AverageValue: quantityOf(name, used)}, nil
}

// quantityOf returns thousandths as a quantity in the format of the metrics API, which is binary
// for memory.
func quantityOf(name corev1.ResourceName, value int64) *resource.Quantity {
	format := resource.DecimalSI
	if name == corev1.ResourceMemory {
		format = resource.BinarySI
	}
	return resource.NewMilliQuantity(value, format)
}

// utilization compares the pods' usage with target percent of their requests.
func (s *scaling) utilization(name corev1.ResourceName, container string, target int32, r Reading) (replicas, percent int32, used int64, err error) {
	if r.Err != nil {
		return 0, 0, 0, fmt.Errorf("unable to get metrics for resource %s: %w", name, r.Err)
	}
	c, err := takeCensus(s.pods, r.Pods, name, s.opts, s.now)
	if err != nil {
		return 0, 0, 0, err
	}
	requests, err := requestsOf(s.pods, container, name)
	if err != nil {
		return 0, 0, 0, err
	}
	percent, used, err = utilizationOf(c.metrics, requests)
	if err != nil {
		return 0, 0, 0, err
	}
	ratio := func(metrics map[string]PodMetric) (float64, error) {
		percent, _, err := utilizationOf(metrics, requests)
		return float64(percent) / float64(target), err
	}
	// An unknown pod counts as using its whole request.
	fill := func(pod string) int64 { return requests[pod] * int64(max(target, 100)) / 100 }
	replicas, err = c.propose(s.spec, s.tol, ratio, fill)
	return replicas, percent, used, err
}

// utilizationOf returns the pods' usage in percent of their requests, and the average usage
// of a pod.
func utilizationOf(metrics map[string]PodMetric, requests map[string]int64) (percent int32, average int64, err error) {
	var used, requested, n int64
	for name, metric := range metrics {
		if request, ok := requests[name]; ok {
			used += metric.Value
			requested += request
			n++
		}
	}
	if requested == 0 {
		return 0, 0, errors.New("no metrics returned matched known pods")
	}
	return int32(used * 100 / requested), used / n, nil // integer division, as upstream
}

// average compares the average value of the pods with target thousandths.
func (s *scaling) average(resource corev1.ResourceName, target int64, r Reading, what string) (replicas int32, average int64, err error) {
	if r.Err != nil {
		if resource == "" {
			return 0, 0, fmt.Errorf("unable to get %s: %w", what, r.Err)
		}
		return 0, 0, fmt.Errorf("unable to get metrics for %s: %w", what, r.Err)
	}
	c, err := takeCensus(s.pods, r.Pods, resource, s.opts, s.now)
	if err != nil {
		return 0, 0, err
	}
	ratio := func(metrics map[string]PodMetric) (float64, error) {
		return float64(averageOf(metrics)) / float64(target), nil
	}
	replicas, err = c.propose(s.spec, s.tol, ratio, func(string) int64 { return target })
	return replicas, averageOf(c.metrics), err
}

func averageOf(metrics map[string]PodMetric) int64 {
	var total int64
	for _, metric := range metrics {
		total += metric.Value
	}
	return total / int64(len(metrics))
}

func (s *scaling) podsMetric(m *autoscalingv2.PodsMetricSource, r Reading) (proposal, *failure) {
	replicas, average, err := s.average("", m.Target.AverageValue.MilliValue(), r, "metric "+m.Metric.Name)
	if err != nil {
		return proposal{}, &failure{"FailedGetPodsMetric", err, fmt.Errorf("failed to get pods metric value: %w", err)}
	}
	return proposal{replicas: replicas, name: "pods metric " + m.Metric.Name, status: autoscalingv2.MetricStatus{
		Type: autoscalingv2.PodsMetricSourceType,
		Pods: &autoscalingv2.PodsMetricStatus{
			Metric:  autoscalingv2.MetricIdentifier{Name: m.Metric.Name, Selector: m.Metric.Selector},
			Current: autoscalingv2.MetricValueStatus{AverageValue: quantityOf("", average)},
		},
	}}, nil
}

func (s *scaling) objectMetric(m *autoscalingv2.ObjectMetricSource, r Reading) (proposal, *failure) {
	fail := func(err error) (proposal, *failure) {
		return proposal{}, &failure{"FailedGetObjectMetric", err, fmt.Errorf("failed to get object metric value: %w", err)}
	}
	var unread error
	if r.Err != nil {
		unread = fmt.Errorf("unable to get metric %s: %w on %s %s/%s", m.Metric.Name, r.Err, m.DescribedObject.Kind, s.namespace, m.DescribedObject.Name)
	}
	p := proposal{status: autoscalingv2.MetricStatus{Type: autoscalingv2.ObjectMetricSourceType, Object: &autoscalingv2.ObjectMetricStatus{
		DescribedObject: m.DescribedObject, Metric: autoscalingv2.MetricIdentifier{Name: m.Metric.Name, Selector: m.Metric.Selector},
	}}}
	current := &p.status.Object.Current
	switch {
	case m.Target.Type == autoscalingv2.ValueMetricType && m.Target.Value != nil:
		if unread != nil {
			return fail(unread)
		}
		replicas, err := s.byRatio(float64(total(r.Values)) / float64(m.Target.Value.MilliValue()))
		if err != nil {
			return fail(err)
		}
		p.replicas, p.name = replicas, fmt.Sprintf("%s metric %s", m.DescribedObject.Kind, m.Metric.Name)
		current.Value = quantityOf("", total(r.Values))
		return p, nil
	case m.Target.Type == autoscalingv2.AverageValueMetricType && m.Target.AverageValue != nil:
		if unread != nil {
			return fail(fmt.Errorf("failed to get %s object metric: %w", m.Metric.Name, unread))
		}
		var each int64
		p.replicas, each = s.perPod(total(r.Values), m.Target.AverageValue.MilliValue())
		p.name = fmt.Sprintf("external metric %s(%+v)", m.Metric.Name, m.Metric.Selector)
		current.AverageValue = quantityOf("", each)
		return p, nil
	}
	return fail(errors.New("invalid object metric source: neither a value target nor an average value target was set"))
}

func (s *scaling) externalMetric(m *autoscalingv2.ExternalMetricSource, r Reading) (proposal, *failure) {
	fail := func(err error) (proposal, *failure) {
		return proposal{}, &failure{"FailedGetExternalMetric", err, fmt.Errorf("failed to get %s external metric value: %w", m.Metric.Name, err)}
	}
	var unread error
	if r.Err != nil {
		unread = fmt.Errorf("unable to get external metric %s/%s/%+v: %w", s.namespace, m.Metric.Name, m.Metric.Selector, r.Err)
	}
	p := proposal{
		name: externalName(m.Metric.Name, m.Metric.Selector),
		status: autoscalingv2.MetricStatus{Type: autoscalingv2.ExternalMetricSourceType, External: &autoscalingv2.ExternalMetricStatus{
			Metric: autoscalingv2.MetricIdentifier{Name: m.Metric.Name, Selector: m.Metric.Selector},
		}},
	}
	current := &p.status.External.Current
	switch {
	case m.Target.AverageValue != nil:
		if unread != nil {
			return fail(fmt.Errorf("failed to get %s external metric: %w", m.Metric.Name, unread))
		}
		var each int64
		p.replicas, each = s.perPod(total(r.Values), m.Target.AverageValue.MilliValue())
		current.AverageValue = quantityOf("", each)
		return p, nil
	case m.Target.Value != nil:
		if unread != nil {
			return fail(fmt.Errorf("failed to get external metric %s: %w", m.Metric.Name, unread))
		}
		replicas, err := s.byRatio(float64(total(r.Values)) / float64(m.Target.Value.MilliValue()))
		if err != nil {
			return fail(fmt.Errorf("failed to get external metric %s: %w", m.Metric.Name, err))
		}
		p.replicas = replicas
		current.Value = quantityOf("", total(r.Values))
		return p, nil
	}
	return fail(errors.New("invalid external metric source: neither a value target nor an average value target was set"))
}

func externalName(name string, selector *metav1.LabelSelector) string {
	return fmt.Sprintf("external metric %s(%+v)", name, selector)
}

// total adds up series. It saturates at the largest int64.
func total(values []int64) int64 {
	var sum int64
	for _, v := range values {
		if v > 0 && sum > math.MaxInt64-v {
			return math.MaxInt64
		}
		sum += v
	}
	return sum
}

// byRatio returns the size at which a value that is not per pod would reach its target.
func (s *scaling) byRatio(ratio float64) (int32, error) {
	if s.spec == 0 {
		return ceil(ratio), nil
	}
	if s.tol.covers(ratio) {
		return s.spec, nil
	}
	ready, err := readyPods(s.pods)
	if err != nil {
		return 0, fmt.Errorf("unable to calculate ready pods: %w", err)
	}
	return ceil(ratio * float64(ready)), nil
}

// perPod returns the size at which each pod has target thousandths of the amount, and the
// present amount per pod.
func (s *scaling) perPod(amount, target int64) (replicas int32, each int64) {
	replicas = s.size
	if !s.tol.covers(float64(amount) / (float64(target) * float64(s.size))) {
		replicas = ceil(float64(amount) / float64(target))
	}
	if amount == math.MaxInt64 || s.size == 0 {
		return replicas, amount
	}
	return replicas, int64(math.Ceil(float64(amount) / float64(s.size)))
}
