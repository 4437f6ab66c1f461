package admission

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	resourcehelper "k8s.io/component-helpers/resource"
)

// limitRangerAnnotation describes the requests and limits added to a pod.
const limitRangerAnnotation = "kubernetes.io/limit-ranger"

// LimitRanger sets the default requests and limits of the namespace's LimitRanges in
// containers, and rejects Pods and PersistentVolumeClaims that violate them (Kubernetes
// documentation, "Limit Ranges").
type LimitRanger struct {
	// In returns a namespace's LimitRanges.
	In func(ctx context.Context, namespace string) ([]*corev1.LimitRange, error)
}

// Mutate implements Mutator.
func (p LimitRanger) Mutate(ctx context.Context, a *Attributes) error {
	pod, ok := a.Object.(*corev1.Pod)
	if !ok || !limited(a) {
		return nil
	}
	ranges, err := p.In(ctx, a.Namespace)
	if err != nil {
		return err
	}
	for _, limits := range ranges {
		giveDefaults(pod, limits)
	}
	return nil
}

// Check implements Checker.
func (p LimitRanger) Check(ctx context.Context, a *Attributes) error {
	if !limited(a) {
		return nil
	}
	ranges, err := p.In(ctx, a.Namespace)
	if err != nil {
		return err
	}
	for _, limits := range ranges {
		var errs []error
		for i := range limits.Spec.Limits {
			errs = append(errs, beyond(&limits.Spec.Limits[i], a)...)
		}
		if err := utilerrors.NewAggregate(errs); err != nil {
			return denied(a, err)
		}
	}
	return nil
}

// limited reports whether a write can change an object's requests: pods are created or
// resized, claims may grow.
func limited(a *Attributes) bool {
	if a.Operation == Delete {
		return false
	}
	if a.Old != nil {
		if old, err := meta.Accessor(a.Old); err == nil && old.GetDeletionTimestamp() != nil {
			return false
		}
	}
	switch a.Object.(type) {
	case *corev1.Pod:
		return a.Subresource == "" && a.Operation == Create || a.Subresource == "resize" && a.Operation == Update
	case *corev1.PersistentVolumeClaim:
		return a.Subresource == ""
	}
	return false
}

func giveDefaults(pod *corev1.Pod, limits *corev1.LimitRange) {
	defaults := corev1.ResourceRequirements{Requests: corev1.ResourceList{}, Limits: corev1.ResourceList{}}
	for i := range limits.Spec.Limits {
		if item := &limits.Spec.Limits[i]; item.Type == corev1.LimitTypeContainer {
			maps.Copy(defaults.Requests, item.DefaultRequest)
			maps.Copy(defaults.Limits, item.Default)
		}
	}
	var changes []string
	for i := range pod.Spec.Containers {
		changes = append(changes, giveContainer(&pod.Spec.Containers[i], defaults, "container")...)
	}
	for i := range pod.Spec.InitContainers {
		changes = append(changes, giveContainer(&pod.Spec.InitContainers[i], defaults, "init container")...)
	}
	if len(changes) == 0 {
		return
	}
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[limitRangerAnnotation] = "LimitRanger plugin set: " + strings.Join(changes, "; ")
}

// giveContainer sets a container's missing requests and limits, and returns a description of each that it
// has set.
func giveContainer(c *corev1.Container, defaults corev1.ResourceRequirements, kind string) []string {
	var changes []string
	for _, part := range []struct {
		name     string
		list     *corev1.ResourceList
		defaults corev1.ResourceList
	}{
		{"request", &c.Resources.Requests, defaults.Requests},
		{"limit", &c.Resources.Limits, defaults.Limits},
	} {
		var added []string
		for name, quantity := range part.defaults {
			if _, has := (*part.list)[name]; has {
				continue
			}
			if *part.list == nil {
				*part.list = corev1.ResourceList{}
			}
			(*part.list)[name] = quantity.DeepCopy()
			added = append(added, string(name))
		}
		if len(added) > 0 {
			slices.Sort(added)
			changes = append(changes, fmt.Sprintf("%s %s for %s %s", strings.Join(added, ", "), part.name, kind, c.Name))
		}
	}
	return changes
}

// beyond returns the ways in which an object exceeds a limit.
func beyond(item *corev1.LimitRangeItem, a *Attributes) []error {
	switch obj := a.Object.(type) {
	case *corev1.PersistentVolumeClaim:
		if item.Type == corev1.LimitTypePersistentVolumeClaim {
			return claimBeyond(item, obj.Spec.Resources.Requests)
		}
	case *corev1.Pod:
		switch item.Type {
		case corev1.LimitTypeContainer:
			var errs []error
			for _, containers := range [][]corev1.Container{obj.Spec.Containers, obj.Spec.InitContainers} {
				for i := range containers {
					errs = append(errs, requirementsBeyond(item, containers[i].Resources)...)
				}
			}
			return errs
		case corev1.LimitTypePod:
			// The pod's spec counts, not the resources that its kubelet has allocated,
			// nor the overhead of its runtime.
			bare := resourcehelper.PodResourcesOptions{ExcludeOverhead: true}
			return requirementsBeyond(item, corev1.ResourceRequirements{
				Requests: resourcehelper.PodRequests(obj, bare), Limits: resourcehelper.PodLimits(obj, bare),
			})
		}
	}
	return nil
}

func claimBeyond(item *corev1.LimitRangeItem, requests corev1.ResourceList) []error {
	var errs []error
	for _, name := range sortedResources(item.Min) {
		errs = append(errs, belowMin(item, name, corev1.ResourceRequirements{Requests: requests})...)
	}
	for _, name := range sortedResources(item.Max) {
		most, request := item.Max[name], requests[name]
		if _, has := requests[name]; !has {
			errs = append(errs, fmt.Errorf("maximum %s usage per %s is %s.  No request is specified", name, item.Type, most.String()))
		} else if request.Cmp(most) > 0 {
			errs = append(errs, fmt.Errorf("maximum %s usage per %s is %s, but request is %s", name, item.Type, most.String(), request.String()))
		}
	}
	return errs
}

func requirementsBeyond(item *corev1.LimitRangeItem, r corev1.ResourceRequirements) []error {
	var errs []error
	for _, name := range sortedResources(item.Min) {
		errs = append(errs, belowMin(item, name, r)...)
	}
	for _, name := range sortedResources(item.Max) {
		errs = append(errs, aboveMax(item, name, r)...)
	}
	for _, name := range sortedResources(item.MaxLimitRequestRatio) {
		errs = append(errs, aboveRatio(item, name, r)...)
	}
	return errs
}

func belowMin(item *corev1.LimitRangeItem, name corev1.ResourceName, r corev1.ResourceRequirements) []error {
	least := item.Min[name]
	request, hasRequest := r.Requests[name]
	limit, hasLimit := r.Limits[name]
	switch {
	case !hasRequest:
		return []error{fmt.Errorf("minimum %s usage per %s is %s.  No request is specified", name, item.Type, least.String())}
	case request.Cmp(least) < 0:
		return []error{fmt.Errorf("minimum %s usage per %s is %s, but request is %s", name, item.Type, least.String(), request.String())}
	case hasLimit && limit.Cmp(least) < 0:
		return []error{fmt.Errorf("minimum %s usage per %s is %s, but limit is %s", name, item.Type, least.String(), limit.String())}
	}
	return nil
}

func aboveMax(item *corev1.LimitRangeItem, name corev1.ResourceName, r corev1.ResourceRequirements) []error {
	most := item.Max[name]
	request, hasRequest := r.Requests[name]
	limit, hasLimit := r.Limits[name]
	switch {
	case !hasLimit:
		return []error{fmt.Errorf("maximum %s usage per %s is %s.  No limit is specified", name, item.Type, most.String())}
	case limit.Cmp(most) > 0:
		return []error{fmt.Errorf("maximum %s usage per %s is %s, but limit is %s", name, item.Type, most.String(), limit.String())}
	case hasRequest && request.Cmp(most) > 0:
		return []error{fmt.Errorf("maximum %s usage per %s is %s, but request is %s", name, item.Type, most.String(), request.String())}
	}
	return nil
}

func aboveRatio(item *corev1.LimitRangeItem, name corev1.ResourceName, r corev1.ResourceRequirements) []error {
	most, request, limit := item.MaxLimitRequestRatio[name], r.Requests[name], r.Limits[name]
	if request.IsZero() {
		return []error{fmt.Errorf("%s max limit to request ratio per %s is %s, but no request is specified or request is 0", name, item.Type, most.String())}
	}
	if limit.IsZero() {
		return []error{fmt.Errorf("%s max limit to request ratio per %s is %s, but no limit is specified or limit is 0", name, item.Type, most.String())}
	}
	if ratio := limit.AsApproximateFloat64() / request.AsApproximateFloat64(); ratio > most.AsApproximateFloat64() {
		return []error{fmt.Errorf("%s max limit to request ratio per %s is %s, but provided ratio is %f", name, item.Type, most.String(), ratio)}
	}
	return nil
}

func sortedResources(list map[corev1.ResourceName]resource.Quantity) []corev1.ResourceName {
	return slices.Sorted(maps.Keys(list))
}
