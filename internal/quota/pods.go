package quota

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	upstream "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/apiserver/pkg/quota/v1/generic"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/utils/clock"

	"minikcm.dev/minikcm/internal/resourcename"
)

// pods evaluates Pods: their requests and limits until they end, and always their number.
type pods struct {
	list  generic.ListFuncByNamespace
	clock clock.PassiveClock
}

var podCount = generic.ObjectCountQuotaResourceNameFor(corev1.Resource("pods"))

// demanded are the resources that every container must specify if a quota limits them.
var demanded = []corev1.ResourceName{
	corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceRequestsCPU, corev1.ResourceRequestsMemory,
	corev1.ResourceLimitsCPU, corev1.ResourceLimitsMemory,
}

func toPod(obj runtime.Object) (*corev1.Pod, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return nil, fmt.Errorf("a %T is no Pod", obj)
	}
	return pod, nil
}

// GroupResource implements upstream's Evaluator, as do all methods below.
func (p *pods) GroupResource() schema.GroupResource { return corev1.Resource("pods") }

// Constraints requires all containers to specify the limited resources.
func (p *pods) Constraints(required []corev1.ResourceName, obj runtime.Object) error {
	pod, err := toPod(obj)
	if err != nil {
		return err
	}
	if resourcehelper.IsPodLevelResourcesSet(pod) {
		return nil
	}
	var missing []string
	for _, name := range slices.Sorted(slices.Values(upstream.Intersection(required, demanded))) {
		var silent []string
		for _, containers := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
			for i := range containers {
				if _, stated := computeUsage(containers[i].Resources.Requests, containers[i].Resources.Limits)[name]; !stated {
					silent = append(silent, containers[i].Name)
				}
			}
		}
		if len(silent) > 0 {
			slices.Sort(silent)
			missing = append(missing, fmt.Sprintf("%s for: %s", name, strings.Join(slices.Compact(silent), ",")))
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("must specify %s", strings.Join(missing, "; "))
	}
	return nil
}

// Handles reports whether a write can change the usage.
func (p *pods) Handles(a admission.Attributes) bool {
	switch {
	case a.GetSubresource() == "resize":
		return a.GetOperation() == admission.Update
	case a.GetSubresource() != "":
		return false
	case a.GetOperation() == admission.Create:
		return true
	case a.GetOperation() == admission.Update:
		now, err := toPod(a.GetObject())
		before, oldErr := toPod(a.GetOldObject())
		return err == nil && oldErr == nil && hasDeadline(now) != hasDeadline(before)
	}
	return false
}

// Matches reports whether a quota counts the pod.
func (p *pods) Matches(quota *corev1.ResourceQuota, obj runtime.Object) (bool, error) {
	return generic.Matches(quota, obj, p.MatchingResources, podInScope)
}

// MatchingScopes returns the scopes of the pod.
func (p *pods) MatchingScopes(obj runtime.Object, scopes []corev1.ScopedResourceSelectorRequirement) ([]corev1.ScopedResourceSelectorRequirement, error) {
	return matching(obj, scopes, podInScope)
}

// UncoveredQuotaScopes returns the limited scopes that no quota covers.
func (p *pods) UncoveredQuotaScopes(limited, matched []corev1.ScopedResourceSelectorRequirement) ([]corev1.ScopedResourceSelectorRequirement, error) {
	return uncovered(limited, matched), nil
}

// MatchingResources returns the names of resources that pods use.
func (p *pods) MatchingResources(names []corev1.ResourceName) []corev1.ResourceName {
	var matched []corev1.ResourceName
	for _, name := range names {
		if isPodResource(name) {
			matched = append(matched, name)
		}
	}
	return matched
}

func isPodResource(name corev1.ResourceName) bool {
	switch name {
	case podCount, corev1.ResourcePods,
		corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage,
		corev1.ResourceRequestsCPU, corev1.ResourceRequestsMemory, corev1.ResourceRequestsEphemeralStorage,
		corev1.ResourceLimitsCPU, corev1.ResourceLimitsMemory, corev1.ResourceLimitsEphemeralStorage:
		return true
	}
	if strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix) || strings.HasPrefix(string(name), corev1.ResourceRequestsHugePagesPrefix) {
		return true
	}
	asked, isRequest := strings.CutPrefix(string(name), corev1.DefaultResourceRequestsPrefix)
	return isRequest && resourcename.MayBeDevices(corev1.ResourceName(asked))
}

// Usage returns the usage of one pod.
func (p *pods) Usage(obj runtime.Object) (corev1.ResourceList, error) {
	pod, err := toPod(obj)
	if err != nil {
		return nil, err
	}
	usage := corev1.ResourceList{podCount: one()}
	if !p.counts(pod) {
		return usage, nil
	}
	opts := resourcehelper.PodResourcesOptions{UseStatusResources: true}
	maps.Copy(usage, computeUsage(resourcehelper.PodRequests(pod, opts), resourcehelper.PodLimits(pod, opts)))
	usage[corev1.ResourcePods] = one()
	return usage, nil
}

// counts reports whether a pod still uses resources: it has not ended, and its deletion has
// not lasted longer than its grace period.
func (p *pods) counts(pod *corev1.Pod) bool {
	if pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		return false
	}
	if pod.DeletionTimestamp == nil || pod.DeletionGracePeriodSeconds == nil {
		return true
	}
	grace := time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second
	return !p.clock.Now().After(pod.DeletionTimestamp.Add(grace))
}

// computeUsage converts requests and limits to the resource names of quotas.
func computeUsage(requests, limits corev1.ResourceList) corev1.ResourceList {
	usage := corev1.ResourceList{}
	for name, quantity := range requests {
		switch {
		case name == corev1.ResourceCPU, name == corev1.ResourceMemory, name == corev1.ResourceEphemeralStorage,
			strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix):
			usage[name] = quantity
			usage[corev1.DefaultResourceRequestsPrefix+name] = quantity
		case resourcename.MayBeDevices(name):
			usage[corev1.DefaultResourceRequestsPrefix+name] = quantity
		}
	}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage} {
		if quantity, has := limits[name]; has {
			usage["limits."+name] = quantity
		}
	}
	return usage
}

// UsageStats returns the total usage of a namespace's pods.
func (p *pods) UsageStats(options upstream.UsageStatsOptions) (upstream.UsageStats, error) {
	return generic.CalculateUsageStats(options, p.list, podInScope, p.Usage)
}

func podInScope(selector corev1.ScopedResourceSelectorRequirement, obj runtime.Object) (bool, error) {
	pod, err := toPod(obj)
	if err != nil {
		return false, err
	}
	switch selector.ScopeName {
	case corev1.ResourceQuotaScopeTerminating:
		return hasDeadline(pod), nil
	case corev1.ResourceQuotaScopeNotTerminating:
		return !hasDeadline(pod), nil
	case corev1.ResourceQuotaScopeBestEffort:
		return asksForNothing(pod), nil
	case corev1.ResourceQuotaScopeNotBestEffort:
		return !asksForNothing(pod), nil
	case corev1.ResourceQuotaScopePriorityClass:
		return selects(selector, pod.Spec.PriorityClassName)
	case corev1.ResourceQuotaScopeCrossNamespacePodAffinity:
		return crossesNamespaces(pod.Spec.Affinity), nil
	}
	return false, nil
}

// hasDeadline reports whether the pod is in the scope Terminating.
func hasDeadline(pod *corev1.Pod) bool {
	return pod.Spec.ActiveDeadlineSeconds != nil && *pod.Spec.ActiveDeadlineSeconds >= 0
}

// asksForNothing reports whether the pod has the quality of service class BestEffort.
func asksForNothing(pod *corev1.Pod) bool {
	states := func(r corev1.ResourceRequirements) bool {
		for _, list := range []corev1.ResourceList{r.Requests, r.Limits} {
			for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
				if quantity := list[name]; quantity.Sign() > 0 {
					return true
				}
			}
		}
		return false
	}
	if pod.Spec.Resources != nil && states(*pod.Spec.Resources) {
		return false
	}
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			if states(containers[i].Resources) {
				return false
			}
		}
	}
	return true
}

func one() resource.Quantity { return *resource.NewQuantity(1, resource.DecimalSI) }
