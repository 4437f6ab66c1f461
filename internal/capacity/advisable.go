package capacity

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"minikcm.dev/minikcm/internal/capacity/internal/remedy"
)

// advisable returns the workloads whose pods the routes of an adviser lead to.
func (f *Fork) advisable(ctx context.Context, a *adviser) ([]*advised, error) {
	pods, err := f.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing pods: %w", err)
	}
	byName := map[string]*corev1.Pod{}
	for i := range pods.Items {
		byName["pod "+nameOf(&pods.Items[i]).String()] = &pods.Items[i]
	}
	var all []*advised
	for _, i := range a.routes {
		ways, err := f.cluster.Kubelets().TrafficWays(ctx, f.opts.Traffic.routes[i].Ask(namespaceOrDefault))
		if err != nil {
			return nil, fmt.Errorf("asking where the route %s leads: %w", f.opts.Traffic.routes[i].Name, err)
		}
		for _, way := range ways {
			if way.Server == nil || byName[way.Server.Name()] == nil {
				continue
			}
			pod := byName[way.Server.Name()]
			kind, name, err := f.workloadOf(ctx, pod)
			if err != nil {
				return nil, err
			}
			if name == "" {
				continue
			}
			at := slices.IndexFunc(all, func(w *advised) bool { return w.Kind == kind && w.Namespace == pod.Namespace && w.Name == name })
			if at < 0 {
				w, err := f.advised(ctx, kind, pod.Namespace, name, pods.Items)
				if err != nil {
					return nil, err
				}
				at, all = len(all), append(all, w)
			}
			if w := all[at]; !slices.Contains(w.routes, i) {
				w.routes = append(w.routes, i)
			}
		}
	}
	for _, w := range all {
		w.tries, w.best = w.Remedies(), -1
		_, failed := sums(a.before, w.routes)
		w.bestFailed = failed/2 + 1
		w.hit, _ = w.on(a.touched(), pods.Items)
		if len(w.tries) == 0 {
			w.settled, w.at = true, -1
		}
	}
	return all, nil
}

// workloadOf returns the Deployment or StatefulSet of a pod; an empty name: it has neither.
func (f *Fork) workloadOf(ctx context.Context, pod *corev1.Pod) (kind, name string, err error) {
	owner := metav1.GetControllerOf(pod)
	switch {
	case owner == nil:
		return "", "", nil
	case owner.Kind == "StatefulSet":
		return remedy.StatefulSet, owner.Name, nil
	case owner.Kind != "ReplicaSet":
		return "", "", nil
	}
	set, err := f.client.AppsV1().ReplicaSets(pod.Namespace).Get(ctx, owner.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", "", nil
	}
	if err != nil {
		return "", "", fmt.Errorf("getting the ReplicaSet of pod %s: %w", pod.Name, err)
	}
	if owner = metav1.GetControllerOf(set); owner != nil && owner.Kind == "Deployment" {
		return remedy.Deployment, owner.Name, nil
	}
	return "", "", nil
}

// advised describes a workload.
func (f *Fork) advised(ctx context.Context, kind, namespace, name string, pods []corev1.Pod) (*advised, error) {
	replicas, template, selector, err := f.specOf(ctx, kind, namespace, name)
	if err != nil {
		return nil, err
	}
	w := &advised{Workload: remedy.Workload{Kind: kind, Namespace: namespace, Name: name, Replicas: 1, Grace: corev1.DefaultTerminationGracePeriodSeconds}}
	if replicas != nil {
		w.Replicas = int(*replicas)
	}
	if grace := template.Spec.TerminationGracePeriodSeconds; grace != nil {
		w.Grace = int(*grace)
	}
	if len(selector.MatchExpressions) == 0 {
		w.Selector = selector.MatchLabels
	}
	affinity := template.Spec.Affinity
	w.Spread = len(template.Spec.TopologySpreadConstraints) > 0 || affinity != nil && affinity.PodAntiAffinity != nil
	w.hooks(template.Spec.Containers)
	if w.selects, err = metav1.LabelSelectorAsSelector(selector); err != nil {
		return nil, fmt.Errorf("reading the selector of %s %s: %w", kind, name, err)
	}
	nodes := map[string]bool{}
	for i := range pods {
		if pod := &pods[i]; pod.Namespace == namespace && !ended(pod) && w.selects.Matches(labels.Set(pod.Labels)) {
			nodes[pod.Spec.NodeName] = true
		}
	}
	w.Nodes = len(nodes)
	return w, f.protection(ctx, w, labels.Set(template.Labels))
}

func (f *Fork) specOf(ctx context.Context, kind, namespace, name string) (replicas *int32, template *corev1.PodTemplateSpec, selector *metav1.LabelSelector, err error) {
	if kind == remedy.StatefulSet {
		var set *appsv1.StatefulSet
		if set, err = f.client.AppsV1().StatefulSets(namespace).Get(ctx, name, metav1.GetOptions{}); err == nil {
			return set.Spec.Replicas, &set.Spec.Template, set.Spec.Selector, nil
		}
	} else {
		var d *appsv1.Deployment
		if d, err = f.client.AppsV1().Deployments(namespace).Get(ctx, name, metav1.GetOptions{}); err == nil {
			return d.Spec.Replicas, &d.Spec.Template, d.Spec.Selector, nil
		}
	}
	return nil, nil, nil, fmt.Errorf("getting %s %s: %w", kind, name, err)
}

// hooks notes which containers serve, and their preStop hooks. Containers that declare ports serve; if none does, all.
func (w *advised) hooks(containers []corev1.Container) {
	declares := func(c corev1.Container) bool { return len(c.Ports) > 0 }
	some, first := slices.ContainsFunc(containers, declares), true
	for _, c := range containers {
		if some && !declares(c) {
			continue
		}
		w.Servers = append(w.Servers, c.Name)
		sleep := 0
		if c.Lifecycle != nil && c.Lifecycle.PreStop != nil {
			if s := c.Lifecycle.PreStop.Sleep; s != nil {
				sleep = int(s.Seconds)
			} else {
				w.Hooked = true
			}
		}
		if first || sleep < w.Sleep {
			w.Sleep, first = sleep, false
		}
	}
}

// protection notes the budget and the autoscaler of a workload.
func (f *Fork) protection(ctx context.Context, w *advised, of labels.Set) error {
	budgets, err := f.client.PolicyV1().PodDisruptionBudgets(w.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing disruption budgets: %w", err)
	}
	for i := range budgets.Items {
		selects, err := metav1.LabelSelectorAsSelector(budgets.Items[i].Spec.Selector)
		w.Budgeted = w.Budgeted || err == nil && selects.Matches(of)
	}
	scalers, err := f.client.AutoscalingV2().HorizontalPodAutoscalers(w.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing autoscalers: %w", err)
	}
	for i := range scalers.Items {
		s := &scalers.Items[i]
		if to := s.Spec.ScaleTargetRef; strings.EqualFold(to.Kind, w.Kind) && to.Name == w.Name && (s.Spec.MinReplicas == nil || *s.Spec.MinReplicas < 2) {
			w.Autoscaler = s.Name
		}
	}
	return nil
}

// complete reports whether a workload has all the pods that it wants, and they are ready.
func (f *Fork) complete(ctx context.Context, w *advised) (bool, error) {
	if w.Kind == remedy.StatefulSet {
		set, err := f.client.AppsV1().StatefulSets(w.Namespace).Get(ctx, w.Name, metav1.GetOptions{})
		if err != nil {
			return false, fmt.Errorf("getting %s %s: %w", w.Kind, w.Name, err)
		}
		return set.Spec.Replicas == nil || set.Status.UpdatedReplicas == *set.Spec.Replicas && set.Status.ReadyReplicas == *set.Spec.Replicas, nil
	}
	d, err := f.client.AppsV1().Deployments(w.Namespace).Get(ctx, w.Name, metav1.GetOptions{})
	if err != nil {
		return false, fmt.Errorf("getting %s %s: %w", w.Kind, w.Name, err)
	}
	return d.Spec.Replicas == nil || d.Status.UpdatedReplicas == *d.Spec.Replicas && d.Status.AvailableReplicas == *d.Spec.Replicas && d.Status.Replicas == *d.Spec.Replicas, nil
}
