// Package decide decides about resource claims: which claims are generated for a pod and what its
// status says of them, which claims are reserved for it, and when a claim loses reservations, its
// allocation and its finalizer, or is deleted.
//
//minikcm:pure
package decide
