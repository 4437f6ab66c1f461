// Package members defines the Leases with which several minikcm processes share one etcd: one
// Lease for each process (a member), as KEP-1965 defines the identity of an API server, and one
// for each role, which names the member that runs it. Its decisions are pure functions.
package members
