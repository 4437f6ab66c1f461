package quota

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	upstream "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/apiserver/pkg/quota/v1/generic"
)

// resourceClaims evaluates ResourceClaims: the devices that they request, by DeviceClass and by the extended
// resource that the class backs.
type resourceClaims struct {
	unscoped
	list    generic.ListFuncByNamespace
	backing Backing
	pods    *pods
}

var resourceClaimCount = generic.ObjectCountQuotaResourceNameFor(resourcev1.Resource("resourceclaims"))

// GroupResource implements upstream's Evaluator, as do all methods below.
func (c *resourceClaims) GroupResource() schema.GroupResource {
	return resourcev1.Resource("resourceclaims")
}

// Matches reports whether a quota counts the claim.
func (c *resourceClaims) Matches(quota *corev1.ResourceQuota, obj runtime.Object) (bool, error) {
	return generic.Matches(quota, obj, c.MatchingResources, generic.MatchesNoScopeFunc)
}

// MatchingResources returns the names of resources that claims use.
func (c *resourceClaims) MatchingResources(names []corev1.ResourceName) []corev1.ResourceName {
	var matched []corev1.ResourceName
	for _, name := range names {
		if name == resourceClaimCount || strings.HasSuffix(string(name), corev1.ResourceClaimsPerClass) || c.backing.backs(name) {
			matched = append(matched, name)
		}
	}
	return matched
}

// Usage returns the usage of one claim: the most devices of each class that it may get.
func (c *resourceClaims) Usage(obj runtime.Object) (corev1.ResourceList, error) {
	claim, ok := obj.(*resourcev1.ResourceClaim)
	if !ok {
		return nil, fmt.Errorf("a %T is no ResourceClaim", obj)
	}
	devices := map[string]int64{}
	for i := range claim.Spec.Devices.Requests {
		request := &claim.Spec.Devices.Requests[i]
		if e := request.Exactly; e != nil {
			devices[e.DeviceClassName] += atMost(e.AllocationMode, e.Count)
		}
		// Only one of the alternatives is allocated.
		most := map[string]int64{}
		for _, s := range request.FirstAvailable {
			most[s.DeviceClassName] = max(most[s.DeviceClassName], atMost(s.AllocationMode, s.Count))
		}
		for class, n := range most {
			devices[class] += n
		}
	}
	usage := corev1.ResourceList{resourceClaimCount: one()}
	for class, n := range devices {
		usage[corev1.ResourceName(class+corev1.ResourceClaimsPerClass)] = *resource.NewQuantity(n, resource.DecimalSI)
	}
	c.backing.addTo(usage, func() corev1.ResourceList { return c.usageOfPod(claim) })
	return usage, nil
}

// usageOfPod returns the usage of the pod whose extended resources a claim was made for; nil: there is none.
func (c *resourceClaims) usageOfPod(claim *resourcev1.ResourceClaim) corev1.ResourceList {
	pod := c.backing.podOf(claim)
	if pod == nil {
		return nil
	}
	usage, err := c.pods.Usage(pod)
	if err != nil {
		return nil
	}
	return usage
}

// atMost returns the most devices that a request may get; 0 for an unknown mode.
func atMost(mode resourcev1.DeviceAllocationMode, count int64) int64 {
	switch mode {
	case resourcev1.DeviceAllocationModeExactCount:
		return count
	case resourcev1.DeviceAllocationModeAll:
		return resourcev1.AllocationResultsMaxSize
	}
	return 0
}

// UsageStats returns the total usage of a namespace's claims.
func (c *resourceClaims) UsageStats(options upstream.UsageStatsOptions) (upstream.UsageStats, error) {
	return generic.CalculateUsageStats(options, c.list, generic.MatchesNoScopeFunc, c.Usage)
}
