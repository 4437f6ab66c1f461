package capacity

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/internal/dump"
	"minikcm.dev/minikcm/internal/quantity"
	"minikcm.dev/minikcm/internal/usage"
)

// maxFactor bounds the factor of a load.
const maxFactor = 10_000

// parseLoads parses pairs of a workload or Service and a factor, such as "shop/web x3".
func parseLoads(words []string, namespace string) ([]Change, error) {
	if len(words) == 0 || len(words)%2 == 1 {
		return nil, fmt.Errorf("load is written as: load web x3, or load shop/deployment/web x1.5")
	}
	var all []Change
	for i := 0; i < len(words); i += 2 {
		text, cut := strings.CutPrefix(words[i+1], "x")
		factor, err := strconv.ParseFloat(text, 64)
		if !cut || err != nil || !(factor >= 0 && factor <= maxFactor) {
			return nil, fmt.Errorf("load %s %s: write the factor as x3, between x0 and x%d", words[i], words[i+1], maxFactor)
		}
		c := Change{Verb: Load, Factor: factor}
		name := words[i]
		switch parts := strings.Split(name, "/"); len(parts) {
		case 1:
			name = "service/" + name
		case 2:
			if !slices.Contains(loadedKinds, strings.ToLower(parts[0])) {
				name = parts[0] + "/service/" + parts[1]
			}
		}
		if c.Target, err = ParseTarget(name, namespace); err != nil {
			return nil, fmt.Errorf("load %s: %w", words[i], err)
		}
		all = append(all, c)
	}
	return all, nil
}

// loadedKinds are the kinds whose load can be multiplied, as kubectl writes them.
var loadedKinds = []string{"service", "services", "svc", "deployment", "deployments", "deploy", "deployments.apps", "statefulset", "statefulsets", "sts", "statefulsets.apps"}

// loaded is a workload that shares a load among its pods.
type loaded struct {
	target   Target
	object   *unstructured.Unstructured
	replicas int64
	requests corev1.ResourceList
}

// loadedBy returns the workloads behind a target: the target itself, or the workloads whose pods a
// Service selects.
func (f *Fork) loadedBy(ctx context.Context, t *Target) ([]loaded, error) {
	client, err := f.resource(t)
	if err != nil {
		return nil, err
	}
	object, err := client.Get(ctx, t.Name, metav1.GetOptions{})
	if err != nil {
		return nil, input("%s does not exist; select another namespace with -n", t)
	}
	if object.GetKind() != "Service" {
		return []loaded{loadedOf(*t, object)}, nil
	}
	selector, _, _ := unstructured.NestedStringMap(object.Object, "spec", "selector")
	if len(selector) == 0 {
		return nil, input("%s selects no pods", t)
	}
	var all []loaded
	for _, kind := range []string{"deployments.apps", "statefulsets.apps"} {
		of := Target{Kind: kind, Namespace: t.Namespace}
		client, err := f.resource(&of)
		if err != nil {
			return nil, err
		}
		list, err := client.List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("listing the %s of %s: %w", kind, t.Namespace, err)
		}
		for i := range list.Items {
			o := &list.Items[i]
			has, _, _ := unstructured.NestedStringMap(o.Object, "spec", "template", "metadata", "labels")
			if labels.SelectorFromSet(selector).Matches(labels.Set(has)) {
				all = append(all, loadedOf(Target{Kind: strings.ToLower(o.GetKind()), Namespace: o.GetNamespace(), Name: o.GetName()}, o))
			}
		}
	}
	if len(all) == 0 {
		return nil, input("%s selects the pods of no Deployment and no StatefulSet", t)
	}
	return all, nil
}

func loadedOf(t Target, o *unstructured.Unstructured) loaded {
	l := loaded{target: t, object: o, replicas: 1}
	if n, has, _ := unstructured.NestedInt64(o.Object, "spec", "replicas"); has {
		l.replicas = n
	}
	spec, _, _ := unstructured.NestedMap(o.Object, "spec", "template", "spec")
	pod := &corev1.Pod{}
	if runtime.DefaultUnstructuredConverter.FromUnstructured(spec, &pod.Spec) == nil {
		l.requests = requestsOf(pod)
	}
	return l
}

// multiply multiplies the loads of the workloads behind a target: the CPU, and the metrics that its
// annotations declare. Without a declared load of the CPU, the pods use half of their requests.
func (f *Fork) multiply(ctx context.Context, t *Target, factor float64) error {
	all, err := f.loadedBy(ctx, t)
	if err != nil {
		return err
	}
	for i := range all {
		l := &all[i]
		annotations := map[string]string{}
		cpu := usage.AnnotationLoad + string(corev1.ResourceCPU)
		for key, text := range l.object.GetAnnotations() {
			if !strings.HasPrefix(key, usage.AnnotationLoad) || key == usage.AnnotationLoad+string(corev1.ResourceMemory) {
				continue
			}
			amount, err := quantity.Parse(text)
			if err != nil {
				return input("the load of %s, %s: %q, is not constant, and cannot be multiplied", &l.target, key, text)
			}
			annotations[key] = milli(amount.AsApproximateFloat64() * factor)
		}
		if annotations[cpu] == "" {
			requests := l.requests[corev1.ResourceCPU]
			annotations[cpu] = milli(unknownShare * requests.AsApproximateFloat64() * float64(l.replicas) * factor)
		}
		data, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": annotations}})
		if err != nil {
			return err
		}
		client, err := f.resource(&l.target)
		if err != nil {
			return err
		}
		if _, err := client.Patch(ctx, l.target.Name, types.MergePatchType, data, metav1.PatchOptions{}); err != nil {
			return fmt.Errorf("changing the load of %s: %w", &l.target, err)
		}
	}
	return nil
}

// unknownShare is the share of its requests that a container of unknown usage uses.
const unknownShare = 0.5

// milli formats an amount with three decimals.
func milli(amount float64) string {
	return resource.NewMilliQuantity(int64(math.Round(amount*1000)), resource.DecimalSI).String()
}

// withLoads returns the dump with the loads that its autoscalers saw, as annotations of the workloads that
// they scale: otherwise they would act on the assumed usage of pods whose real usage is unknown. unseen
// are the autoscalers' metrics whose values are not known.
func withLoads(d *dump.Dump) (with *dump.Dump, unseen []string) {
	var objects []*unstructured.Unstructured
	at := map[string]int{}
	var scalers []*autoscalingv2.HorizontalPodAutoscaler
	for o := range d.Objects() {
		at[strings.Join([]string{o.GetKind(), o.GetNamespace(), o.GetName()}, "/")] = len(objects)
		objects = append(objects, o)
		if o.GetKind() == "HorizontalPodAutoscaler" && o.GetAPIVersion() == "autoscaling/v2" {
			h := &autoscalingv2.HorizontalPodAutoscaler{}
			if runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, h) == nil {
				scalers = append(scalers, h)
			}
		}
	}
	if len(scalers) == 0 {
		return d, nil
	}
	for _, h := range scalers {
		ref := &h.Spec.ScaleTargetRef
		i, has := at[strings.Join([]string{ref.Kind, h.Namespace, ref.Name}, "/")]
		if !has {
			unseen = append(unseen, fmt.Sprintf("the target %s/%s of horizontalpodautoscaler/%s in %s", strings.ToLower(ref.Kind), ref.Name, h.Name, h.Namespace))
			continue
		}
		loads, unknown := loadsOf(h, loadedOf(Target{}, objects[i]))
		unseen = append(unseen, unknown...)
		annotations := map[string]string{}
		for key, value := range loads {
			if _, declared := objects[i].GetAnnotations()[key]; !declared {
				annotations[key] = value
			}
		}
		if len(annotations) == 0 {
			continue
		}
		objects[i] = objects[i].DeepCopy()
		for key, value := range objects[i].GetAnnotations() {
			annotations[key] = value
		}
		objects[i].SetAnnotations(annotations)
	}
	changed := dump.New("", objects)
	changed.Sources, changed.Skipped = d.Sources, d.Skipped
	return changed, unseen
}

// loadsOf returns the loads that an autoscaler saw, by its status. Without a status, it returns the loads at
// which the autoscaler is at rest.
func loadsOf(h *autoscalingv2.HorizontalPodAutoscaler, of loaded) (loads map[string]string, unseen []string) {
	loads = map[string]string{}
	replicas := float64(max(int64(h.Status.CurrentReplicas), of.replicas))
	for i := range h.Spec.Metrics {
		m := &h.Spec.Metrics[i]
		name, amount, known := "", 0.0, false
		switch {
		case m.Type == autoscalingv2.ResourceMetricSourceType && m.Resource != nil:
			name = string(m.Resource.Name)
			amount, known = resourceLoad(h, m.Resource, of.requests)
		case m.Type == autoscalingv2.PodsMetricSourceType && m.Pods != nil:
			name = m.Pods.Metric.Name
			amount, known = podsLoad(h, m.Pods)
		default:
			unseen = append(unseen, fmt.Sprintf("the value of a metric of the type %s of horizontalpodautoscaler/%s in %s", m.Type, h.Name, h.Namespace))
			continue
		}
		if !known {
			unseen = append(unseen, fmt.Sprintf("the value of the metric %s of horizontalpodautoscaler/%s in %s", name, h.Name, h.Namespace))
			continue
		}
		loads[usage.AnnotationLoad+name] = milli(amount * replicas)
	}
	return loads, unseen
}

// resourceLoad returns each pod's usage of a resource.
func resourceLoad(h *autoscalingv2.HorizontalPodAutoscaler, m *autoscalingv2.ResourceMetricSource, requests corev1.ResourceList) (each float64, known bool) {
	wants := requests[m.Name]
	for i := range h.Status.CurrentMetrics {
		c := h.Status.CurrentMetrics[i].Resource
		if c == nil || c.Name != m.Name {
			continue
		}
		switch {
		case c.Current.AverageValue != nil:
			return c.Current.AverageValue.AsApproximateFloat64(), true
		case c.Current.AverageUtilization != nil:
			return wants.AsApproximateFloat64() * float64(*c.Current.AverageUtilization) / 100, true
		}
	}
	switch {
	case m.Target.AverageValue != nil:
		return m.Target.AverageValue.AsApproximateFloat64(), true
	case m.Target.AverageUtilization != nil && !wants.IsZero():
		return wants.AsApproximateFloat64() * float64(*m.Target.AverageUtilization) / 100, true
	}
	return 0, false
}

// podsLoad returns the value of a metric of each pod.
func podsLoad(h *autoscalingv2.HorizontalPodAutoscaler, m *autoscalingv2.PodsMetricSource) (each float64, known bool) {
	for i := range h.Status.CurrentMetrics {
		if c := h.Status.CurrentMetrics[i].Pods; c != nil && c.Metric.Name == m.Metric.Name && c.Current.AverageValue != nil {
			return c.Current.AverageValue.AsApproximateFloat64(), true
		}
	}
	if m.Target.AverageValue != nil {
		return m.Target.AverageValue.AsApproximateFloat64(), true
	}
	return 0, false
}

// Scaled reports how an autoscaler changed the replicas of its target.
type Scaled struct {
	Autoscaler Target `json:"autoscaler"`
	Before     int32  `json:"before"`
	After      int32  `json:"after"`
	// Limited says why it asks for no more, or no less, although its metrics do; empty: they do not.
	Limited string `json:"limited,omitempty"`
}

// scaled returns the changes that the autoscalers of the fork have made, or would make.
func (f *Fork) scaled(ctx context.Context, before map[types.UID]int32) ([]Scaled, error) {
	list, err := f.client.AutoscalingV2().HorizontalPodAutoscalers("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing HorizontalPodAutoscalers: %w", err)
	}
	var all []Scaled
	for i := range list.Items {
		h := &list.Items[i]
		s := Scaled{Autoscaler: Target{Kind: "horizontalpodautoscaler", Namespace: h.Namespace, Name: h.Name}, Before: before[h.UID], After: h.Status.DesiredReplicas}
		for _, c := range h.Status.Conditions {
			if c.Type == autoscalingv2.ScalingLimited && c.Status == corev1.ConditionTrue && c.Reason == "TooManyReplicas" {
				s.Limited = c.Message
			}
		}
		if s.Before != s.After || s.Limited != "" {
			all = append(all, s)
		}
	}
	return all, nil
}

// unscaled says of which workloads a load was multiplied that no autoscaler scales: whether their pods can
// bear it is not known.
func (f *Fork) unscaled(ctx context.Context, changes []Change) ([]string, error) {
	var all []string
	for i := range changes {
		if changes[i].Verb != Load {
			continue
		}
		workloads, err := f.loadedBy(ctx, changes[i].Target)
		if err != nil {
			return nil, err
		}
		scalers, err := f.client.AutoscalingV2().HorizontalPodAutoscalers(changes[i].Target.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("listing HorizontalPodAutoscalers: %w", err)
		}
		for j := range workloads {
			l := &workloads[j]
			if !slices.ContainsFunc(scalers.Items, func(h autoscalingv2.HorizontalPodAutoscaler) bool {
				return h.Spec.ScaleTargetRef.Kind == l.object.GetKind() && h.Spec.ScaleTargetRef.Name == l.object.GetName()
			}) {
				all = append(all, fmt.Sprintf("no autoscaler scales %s, and whether its pods can bear the load is not known", &l.target))
			}
		}
	}
	return all, nil
}

// desired returns the numbers of replicas that the autoscalers of the fork ask for.
func (f *Fork) desired(ctx context.Context) (map[types.UID]int32, error) {
	list, err := f.client.AutoscalingV2().HorizontalPodAutoscalers("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing HorizontalPodAutoscalers: %w", err)
	}
	all := map[types.UID]int32{}
	for i := range list.Items {
		all[list.Items[i].UID] = list.Items[i].Status.DesiredReplicas
	}
	return all, nil
}
