package simulatedmetrics

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	externalmetricsv1beta1 "k8s.io/metrics/pkg/apis/external_metrics/v1beta1"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/usage"
)

// Source implements apiserver.MetricsSource. It keeps no state.
type Source struct {
	clock clock.Clock
	model usage.Model
	rules func() usage.Rules
}

// New returns the source for a cluster with this clock and seed. rules returns the present rules for
// usage, which may be nil.
func New(c clock.Clock, seed uint64, rules func() usage.Rules) *Source {
	return &Source{clock: c, model: usage.Model{Seed: seed}, rules: rules}
}

// modelOn returns the model with the present rules, which see these nodes.
func (m *Source) modelOn(nodes []*corev1.Node) usage.Model {
	model := m.model
	if model.Rules = m.rules(); model.Rules == nil {
		return model
	}
	byName := make(map[string]*corev1.Node, len(nodes))
	for _, node := range nodes {
		byName[node.Name] = node
	}
	model.Node = func(name string) *corev1.Node { return byName[name] }
	return model
}

func (m *Source) sampleTime() time.Time { return usage.SampleTime(m.clock.Now()) }

// PodMetrics implements apiserver.MetricsSource.
func (m *Source) PodMetrics(ctx context.Context, world apiserver.MetricsWorld, pods []*corev1.Pod) ([]*metricsv1beta1.PodMetrics, error) {
	at := m.sampleTime()
	measured, err := m.measure(ctx, world, pods, at)
	if err != nil {
		return nil, err
	}
	all := make([]*metricsv1beta1.PodMetrics, 0, len(measured))
	for _, of := range measured {
		metrics := &metricsv1beta1.PodMetrics{
			ObjectMeta: metav1.ObjectMeta{Name: of.pod.Name, Namespace: of.pod.Namespace, CreationTimestamp: metav1.NewTime(m.clock.Now()), Labels: of.pod.Labels},
			Timestamp:  metav1.NewTime(at), Window: metav1.Duration{Duration: usage.Window},
			Containers: make([]metricsv1beta1.ContainerMetrics, len(of.containers)),
		}
		for i, c := range of.containers {
			metrics.Containers[i] = metricsv1beta1.ContainerMetrics{
				Name: c.Name, Usage: corev1.ResourceList{corev1.ResourceCPU: c.CPU, corev1.ResourceMemory: c.Memory},
			}
		}
		all = append(all, metrics)
	}
	return all, nil
}

// NodeMetrics implements apiserver.MetricsSource.
func (m *Source) NodeMetrics(ctx context.Context, world apiserver.MetricsWorld, nodes []*corev1.Node) ([]*metricsv1beta1.NodeMetrics, error) {
	pods, err := list[*corev1.Pod](ctx, world, corev1.SchemeGroupVersion.WithResource("pods"), "")
	if err != nil {
		return nil, err
	}
	at, used := m.sampleTime(), map[string][][]usage.Container{}
	measured, err := m.measure(ctx, world, pods, at)
	if err != nil {
		return nil, err
	}
	for _, of := range measured {
		used[of.pod.Spec.NodeName] = append(used[of.pod.Spec.NodeName], of.containers)
	}
	var all []*metricsv1beta1.NodeMetrics
	for _, node := range nodes {
		if usage.NodeSilent(node) {
			continue
		}
		cpu, memory := usage.OfNode(used[node.Name])
		all = append(all, &metricsv1beta1.NodeMetrics{
			ObjectMeta: metav1.ObjectMeta{Name: node.Name, CreationTimestamp: metav1.NewTime(m.clock.Now()), Labels: node.Labels},
			Timestamp:  metav1.NewTime(at), Window: metav1.Duration{Duration: usage.Window},
			Usage: corev1.ResourceList{corev1.ResourceCPU: cpu, corev1.ResourceMemory: memory},
		})
	}
	return all, nil
}

// sample is a pod's usage.
type sample struct {
	pod        *corev1.Pod
	containers []usage.Container
}

// measure returns the usage of the pods whose usage is known.
func (m *Source) measure(ctx context.Context, world apiserver.MetricsWorld, pods []*corev1.Pod, at time.Time) ([]sample, error) {
	if len(pods) == 0 {
		return nil, nil
	}
	nodes, err := list[*corev1.Node](ctx, world, corev1.SchemeGroupVersion.WithResource("nodes"), "")
	if err != nil {
		return nil, err
	}
	silent := map[string]bool{}
	for _, node := range nodes {
		silent[node.Name] = usage.NodeSilent(node)
	}
	shares, err := m.shares(ctx, world, commonNamespace(pods), at)
	if err != nil {
		return nil, err
	}
	model := m.modelOn(nodes)
	all, contended := make([]sample, 0, len(pods)), map[string]bool{}
	for _, pod := range pods {
		if silent[pod.Spec.NodeName] {
			continue
		}
		if containers, known := model.Containers(pod, shares[pod.Namespace], at); known {
			all = append(all, sample{pod, containers})
			if usage.Contends(containers) {
				contended[pod.Spec.NodeName] = true
			}
		}
	}
	if len(contended) > 0 {
		err = m.contend(ctx, world, model, nodes, contended, all, at)
	}
	return all, err
}

// contend lowers the CPU usage in samples of contended nodes to the CPU that the other pods of
// these nodes leave.
func (m *Source) contend(ctx context.Context, world apiserver.MetricsWorld, model usage.Model, nodes []*corev1.Node, contended map[string]bool, samples []sample, at time.Time) error {
	pods, err := list[*corev1.Pod](ctx, world, corev1.SchemeGroupVersion.WithResource("pods"), "")
	if err != nil {
		return err
	}
	shares, err := m.shares(ctx, world, "", at)
	if err != nil {
		return err
	}
	byNode, byUID := map[string][][]usage.Container{}, map[types.UID][]usage.Container{}
	for _, pod := range pods {
		if on := pod.Spec.NodeName; contended[on] {
			if containers, known := model.Containers(pod, shares[pod.Namespace], at); known {
				byNode[on], byUID[pod.UID] = append(byNode[on], containers), containers
			}
		}
	}
	for _, node := range nodes {
		capacity, known := node.Status.Capacity[corev1.ResourceCPU]
		if !known {
			capacity, known = node.Status.Allocatable[corev1.ResourceCPU]
		}
		if contended[node.Name] && known {
			usage.ShareCPU(capacity, byNode[node.Name])
		}
	}
	for i := range samples {
		if containers, ok := byUID[samples[i].pod.UID]; ok {
			samples[i].containers = containers
		}
	}
	return nil
}

// commonNamespace is the namespace of all the pods; empty if they have several.
func commonNamespace(pods []*corev1.Pod) string {
	for _, pod := range pods[1:] {
		if pod.Namespace != pods[0].Namespace {
			return ""
		}
	}
	return pods[0].Namespace
}

// shares divides the loads of one namespace, or of all, among the pods, by namespace.
func (m *Source) shares(ctx context.Context, world apiserver.MetricsWorld, namespace string, at time.Time) (map[string]*usage.Shares, error) {
	carriers := map[string][]usage.Object{}
	for _, gvr := range []schema.GroupVersionResource{
		corev1.SchemeGroupVersion.WithResource("services"),
		appsv1.SchemeGroupVersion.WithResource("deployments"),
		appsv1.SchemeGroupVersion.WithResource("statefulsets"),
	} {
		objects, err := list[metav1.Object](ctx, world, gvr, namespace)
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			if usage.CarriesLoad(o) {
				carriers[o.GetNamespace()] = append(carriers[o.GetNamespace()], o)
			}
		}
	}
	shares := make(map[string]*usage.Shares, len(carriers))
	for in, objects := range carriers {
		pods, err := list[*corev1.Pod](ctx, world, corev1.SchemeGroupVersion.WithResource("pods"), in)
		if err != nil {
			return nil, err
		}
		shares[in] = m.model.Shares(objects, pods, at)
	}
	return shares, nil
}

// ObjectMetrics implements apiserver.MetricsSource.
func (m *Source) ObjectMetrics(ctx context.Context, world apiserver.MetricsWorld, objects []metav1.Object, metric string) ([]*apiserver.MetricSample, error) {
	at, samples := m.sampleTime(), make([]*apiserver.MetricSample, len(objects))
	var shares map[string]*usage.Shares
	if len(objects) > 0 {
		if pod, ok := objects[0].(*corev1.Pod); ok {
			var err error
			if shares, err = m.shares(ctx, world, pod.Namespace, at); err != nil {
				return nil, err
			}
		}
	}
	for i, o := range objects {
		if value, known := m.model.Metric(o, metric, shares[o.GetNamespace()], at); known {
			samples[i] = &apiserver.MetricSample{Value: value, Timestamp: at}
		}
	}
	return samples, nil
}

// ExternalMetrics implements apiserver.MetricsSource.
func (m *Source) ExternalMetrics(ctx context.Context, world apiserver.MetricsWorld, namespace, metric string) ([]externalmetricsv1beta1.ExternalMetricValue, error) {
	configs, err := list[*corev1.ConfigMap](ctx, world, corev1.SchemeGroupVersion.WithResource("configmaps"), namespace)
	if err != nil {
		return nil, err
	}
	at := m.sampleTime()
	var series []externalmetricsv1beta1.ExternalMetricValue
	for _, config := range configs {
		if config.Labels[usage.LabelExternalMetric] != metric {
			continue
		}
		value, err := m.model.External(config, at)
		if err != nil {
			return nil, fmt.Errorf("external metric %s/%s: %w", namespace, metric, err)
		}
		series = append(series, externalmetricsv1beta1.ExternalMetricValue{
			MetricName: metric, MetricLabels: without(config.Labels, usage.LabelExternalMetric), Timestamp: metav1.NewTime(at), Value: value,
		})
	}
	return series, nil
}

// MetricNames implements apiserver.MetricsSource.
func (m *Source) MetricNames(o metav1.Object) apiserver.MetricNames {
	own, shared, external := usage.MetricNames(o)
	names := apiserver.MetricNames{Own: own, OfPods: shared}
	if external != "" {
		names.External = []string{external}
	}
	return names
}

func without(set labels.Set, key string) map[string]string {
	rest := make(map[string]string, len(set))
	for k, v := range set {
		if k != key {
			rest[k] = v
		}
	}
	return rest
}

// list lists objects that all are T.
func list[T any](ctx context.Context, world apiserver.MetricsWorld, gvr schema.GroupVersionResource, namespace string) ([]T, error) {
	objects, err := world.List(ctx, gvr, namespace)
	if err != nil {
		return nil, err
	}
	all := make([]T, 0, len(objects))
	for _, obj := range objects {
		if o, ok := obj.(T); ok {
			all = append(all, o)
		}
	}
	return all, nil
}
