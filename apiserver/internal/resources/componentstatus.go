package resources

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func componentStatusRow() *Resource {
	return &Resource{
		GroupVersionKind: corev1.SchemeGroupVersion.WithKind("ComponentStatus"),
		Plural:           "componentstatuses",
		ShortNames:       []string{"cs"},
		Verbs:            []string{"get", "list"},
		Get:              serve(Request.ServeComponent),
		List:             serve(Request.ServeComponentList),
		New:              func() runtime.Object { return &corev1.ComponentStatus{} },
		NewList:          func() runtime.Object { return &corev1.ComponentStatusList{} },
		Warning:          "v1 ComponentStatus is deprecated in v1.19+",
	}
}
