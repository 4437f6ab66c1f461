package request

import (
	"strings"

	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// internalName returns upstream's Go type of a kind as its errors show it:
// "core.ConfigMap". Custom kinds have none.
func internalName(kind schema.GroupVersionKind) string {
	switch kind.Group {
	case "", eventsv1.GroupName:
		return "core." + kind.Kind
	}
	group, _, _ := strings.Cut(kind.Group, ".")
	return group + "." + kind.Kind
}

// shownType returns the type of the request's object, as a refused transformation shows
// it.
func (rq *Request) shownType(list bool) string {
	kind := rq.Kind()
	if list {
		kind.Kind = rq.Row.ListKind
	}
	switch {
	case !rq.Row.Custom || kind.Group != rq.Row.Group:
		return "*" + internalName(kind)
	case list:
		return "*unstructured.UnstructuredList"
	}
	return "*unstructured.Unstructured"
}
