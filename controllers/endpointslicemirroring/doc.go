// Package endpointslicemirroring is the endpointslice-mirroring-controller: it
// copies Endpoints that somebody wrote by hand, for a Service without selector,
// into EndpointSlices, so that those who read slices only see them too (Kubernetes
// documentation, "EndpointSlice mirroring").
//
// A subset makes one slice an address family, of at most 1,000 addresses. Labels and
// annotations are copied. Endpoints labelled
// endpointslice.kubernetes.io/skip-mirror=true, those that are a leader election's
// lock, and those of a Service with selector, or of none, are not mirrored, and slices
// that were made of them before are deleted.
package endpointslicemirroring
