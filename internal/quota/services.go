package quota

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	upstream "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/apiserver/pkg/quota/v1/generic"
)

// services evaluates Services: their node ports and load balancers.
type services struct {
	unscoped
	list generic.ListFuncByNamespace
}

var serviceCount = generic.ObjectCountQuotaResourceNameFor(corev1.Resource("services"))

// GroupResource implements upstream's Evaluator, as do all methods below.
func (s *services) GroupResource() schema.GroupResource { return corev1.Resource("services") }

// Matches reports whether a quota counts the service.
func (s *services) Matches(quota *corev1.ResourceQuota, obj runtime.Object) (bool, error) {
	return generic.Matches(quota, obj, s.MatchingResources, generic.MatchesNoScopeFunc)
}

// MatchingResources returns the names of resources that services use.
func (s *services) MatchingResources(names []corev1.ResourceName) []corev1.ResourceName {
	return upstream.Intersection(names, []corev1.ResourceName{
		serviceCount, corev1.ResourceServices, corev1.ResourceServicesNodePorts, corev1.ResourceServicesLoadBalancers,
	})
}

// Usage returns the usage of one service.
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

// UsageStats returns the total usage of a namespace's services.
func (s *services) UsageStats(options upstream.UsageStatsOptions) (upstream.UsageStats, error) {
	return generic.CalculateUsageStats(options, s.list, generic.MatchesNoScopeFunc, s.Usage)
}
