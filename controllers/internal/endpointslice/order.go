package endpointslice

import (
	"cmp"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"
)

// inOrder returns the slice with its endpoints sorted by target. The library takes them
// from a map, whose order would differ between runs with the same seed.
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
