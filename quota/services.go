package quota

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	upstream "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/apiserver/pkg/quota/v1/generic"
)

// services knows what a Service uses: node ports and load balancers.
type services struct{ list generic.ListFuncByNamespace }

var serviceCount = generic.ObjectCountQuotaResourceNameFor(corev1.Resource("services"))

// GroupResource implements upstream's Evaluator, as do all that follow.
func (s *services) GroupResource() schema.GroupResource { return corev1.Resource("services") }

// Constraints demands nothing.
func (s *services) Constraints([]corev1.ResourceName, runtime.Object) error { return nil }

// Handles says whether a write can change what is used.
func (s *services) Handles(a admission.Attributes) bool {
	return a.GetSubresource() == "" && (a.GetOperation() == admission.Create || a.GetOperation() == admission.Update)
}

// Matches says whether a quota counts the service.
func (s *services) Matches(quota *corev1.ResourceQuota, obj runtime.Object) (bool, error) {
	return generic.Matches(quota, obj, s.MatchingResources, generic.MatchesNoScopeFunc)
}

// MatchingScopes are none.
func (s *services) MatchingScopes(runtime.Object, []corev1.ScopedResourceSelectorRequirement) ([]corev1.ScopedResourceSelectorRequirement, error) {
	return nil, nil
}

// UncoveredQuotaScopes are none.
func (s *services) UncoveredQuotaScopes(_, _ []corev1.ScopedResourceSelectorRequirement) ([]corev1.ScopedResourceSelectorRequirement, error) {
	return nil, nil
}

// MatchingResources are the names that services use.
func (s *services) MatchingResources(names []corev1.ResourceName) []corev1.ResourceName {
	return upstream.Intersection(names, []corev1.ResourceName{
		serviceCount, corev1.ResourceServices, corev1.ResourceServicesNodePorts, corev1.ResourceServicesLoadBalancers,
	})
}

// Usage is what one service uses.
func (s *services) Usage(obj runtime.Object) (corev1.ResourceList, error) {
	service, ok := obj.(*corev1.Service)
	if !ok {
		return nil, fmt.Errorf("a %T is no Service", obj)
	}
	nodePorts, balancers := 0, 0
	switch service.Spec.Type {
	case corev1.ServiceTypeNodePort:
		nodePorts = len(service.Spec.Ports)
	case corev1.ServiceTypeLoadBalancer:
		balancers, nodePorts = 1, len(service.Spec.Ports)
		if allocate := service.Spec.AllocateLoadBalancerNodePorts; allocate != nil && !*allocate {
			nodePorts = 0
			for _, port := range service.Spec.Ports {
				if port.NodePort != 0 {
					nodePorts++
				}
			}
		}
	}
	return corev1.ResourceList{
		serviceCount:                         one(),
		corev1.ResourceServices:              one(),
		corev1.ResourceServicesNodePorts:     *resource.NewQuantity(int64(nodePorts), resource.DecimalSI),
		corev1.ResourceServicesLoadBalancers: *resource.NewQuantity(int64(balancers), resource.DecimalSI),
	}, nil
}

// UsageStats is what a namespace's services use together.
func (s *services) UsageStats(options upstream.UsageStatsOptions) (upstream.UsageStats, error) {
	return generic.CalculateUsageStats(options, s.list, generic.MatchesNoScopeFunc, s.Usage)
}
