package quota

import (
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	upstream "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/apiserver/pkg/quota/v1/generic"
	"k8s.io/utils/clock"
)

// List returns the objects of a resource in a namespace.
type List func(gvr schema.GroupVersionResource, namespace string) ([]runtime.Object, error)

// NewRegistry returns the evaluators of the kinds whose usage is more than their number.
// list is needed only for UsageStats; it may be nil if only the usage of single objects is
// calculated.
func NewRegistry(list List, c clock.PassiveClock, backing Backing) upstream.Registry {
	of := func(gvr schema.GroupVersionResource) generic.ListFuncByNamespace {
		return func(namespace string) ([]runtime.Object, error) { return list(gvr, namespace) }
	}
	core := corev1.SchemeGroupVersion
	pods := &pods{list: of(core.WithResource("pods")), clock: c}
	return generic.NewRegistry([]upstream.Evaluator{
		pods,
		&services{list: of(core.WithResource("services"))},
		&claims{list: of(core.WithResource("persistentvolumeclaims"))},
		&resourceClaims{list: of(resourcev1.SchemeGroupVersion.WithResource("resourceclaims")), backing: backing, pods: pods},
	})
}

// aliases are the names of counts that predate "count/<resource>.<group>".
func aliases() map[schema.GroupResource]corev1.ResourceName {
	return map[schema.GroupResource]corev1.ResourceName{
		corev1.Resource("configmaps"):             corev1.ResourceConfigMaps,
		corev1.Resource("resourcequotas"):         corev1.ResourceQuotas,
		corev1.Resource("replicationcontrollers"): corev1.ResourceReplicationControllers,
		corev1.Resource("secrets"):                corev1.ResourceSecrets,
	}
}

// Count returns the evaluator of a kind of which only the number counts.
func Count(gr schema.GroupResource, list generic.ListFuncByNamespace) upstream.Evaluator {
	return generic.NewObjectCountEvaluator(gr, list, aliases()[gr])
}

// Aliased returns the resource that an alias counts.
func Aliased(name corev1.ResourceName) (schema.GroupResource, bool) {
	for gr, alias := range aliases() {
		if alias == name {
			return gr, true
		}
	}
	return schema.GroupResource{}, false
}

// matching returns the selectors whose scope contains the object.
func matching(obj runtime.Object, selectors []corev1.ScopedResourceSelectorRequirement, inScope generic.MatchesScopeFunc) ([]corev1.ScopedResourceSelectorRequirement, error) {
	var matched []corev1.ScopedResourceSelectorRequirement
	for _, selector := range selectors {
		in, err := inScope(selector, obj)
		if err != nil {
			return nil, err
		}
		if in {
			matched = append(matched, selector)
		}
	}
	return matched, nil
}

// uncovered returns the limited scopes that no quota covers.
func uncovered(limited, matched []corev1.ScopedResourceSelectorRequirement) []corev1.ScopedResourceSelectorRequirement {
	var left []corev1.ScopedResourceSelectorRequirement
	for _, selector := range limited {
		covered := false
		for _, m := range matched {
			covered = covered || m.ScopeName == selector.ScopeName
		}
		if !covered {
			left = append(left, selector)
		}
	}
	return left
}
