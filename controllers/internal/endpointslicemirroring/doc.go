// Package endpointslicemirroring is the endpointslice-mirroring-controller: it copies
// Endpoints that other clients have written for a Service without a selector to
// EndpointSlices, for clients that read only slices (Kubernetes documentation,
// "EndpointSlice mirroring").
//
// Each subset leads to one slice per address family, with at most 1,000 addresses. Labels
// and annotations are copied. Endpoints are not mirrored if they have the label
// endpointslice.kubernetes.io/skip-mirror=true or are the lock of a leader election, or if
// their Service has a selector or does not exist; existing slices of them are deleted.
package endpointslicemirroring
