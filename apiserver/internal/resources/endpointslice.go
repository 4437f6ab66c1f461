package resources

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
	"minikcm.dev/minikcm/apiserver/internal/resources/warnings"
)

func endpointSliceRow() *Resource {
	return &Resource{
		GroupVersionKind: discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice"),
		Plural:           "endpointslices",
		Namespaced:       true,
		New:              func() runtime.Object { return &discoveryv1.EndpointSlice{} },
		NewList:          func() runtime.Object { return &discoveryv1.EndpointSliceList{} },
		Strategy: Strategy{
			Default:        on(defaultEndpointSlice),
			Generation:     true,
			PrepareUpdate:  onUpdate(prepareEndpointSliceUpdate),
			Warnings:       warn(warnings.EndpointSlice),
			Validate:       check(validation.EndpointSlice),
			ValidateUpdate: checkUpdate(validation.EndpointSliceUpdate),
			NameCheck:      apivalidation.NameIsDNSSubdomain,
		},
	}
}

// prepareEndpointSliceUpdate counts changes of the labels, too: one of them names the Service.
func prepareEndpointSliceUpdate(s, old *discoveryv1.EndpointSlice) {
	if !apiequality.Semantic.DeepEqual(s.Labels, old.Labels) {
		s.Generation = old.Generation + 1
	}
}

func defaultEndpointSlice(s *discoveryv1.EndpointSlice) {
	for i := range s.Ports {
		pointDefault(&s.Ports[i].Name, "")
		pointDefault(&s.Ports[i].Protocol, corev1.ProtocolTCP)
	}
}
