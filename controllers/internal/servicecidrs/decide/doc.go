// Package decide decides about the finalizer and the condition of a ServiceCIDR. It guarantees
// that a ServiceCIDR stays while it alone contains an allocated address. It depends on its
// arguments alone and does not change them.
//
//minikcm:pure
package decide
