package endpointslice

import (
	"cmp"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"
)

// inOrder returns the slice with its endpoints ordered by whom they are of: the library
// takes them from a map, and one seed shall give one slice.
func inOrder(slice *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	ordered := *slice
	ordered.Endpoints = slices.Clone(slice.Endpoints)
	slices.SortStableFunc(ordered.Endpoints, func(a, b discoveryv1.Endpoint) int {
		return cmp.Or(cmp.Compare(targetOf(a), targetOf(b)), slices.Compare(a.Addresses, b.Addresses))
	})
	return &ordered
}

func targetOf(e discoveryv1.Endpoint) string {
	if e.TargetRef == nil {
		return ""
	}
	return e.TargetRef.Namespace + "/" + e.TargetRef.Name
}
