package apiserver

import (
	"strings"

	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// internalName is what upstream calls the Go type of a kind where its errors name one:
// "core.ConfigMap". Custom kinds have none.
func internalName(kind schema.GroupVersionKind) string {
	switch kind.Group {
	case "", eventsv1.GroupName:
		return "core." + kind.Kind
	}
	group, _, _ := strings.Cut(kind.Group, ".")
	return group + "." + kind.Kind
}

// shownType is the type of what the request speaks, as a refused transformation shows it.
func (rq *request) shownType(list bool) string {
	kind := rq.kind()
	if list {
		kind.Kind = rq.row.ListKind
	}
	switch {
	case !rq.row.Custom || kind.Group != rq.row.Group:
		return "*" + internalName(kind)
	case list:
		return "*unstructured.UnstructuredList"
	}
	return "*unstructured.Unstructured"
}
