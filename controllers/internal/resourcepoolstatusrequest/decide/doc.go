// Package decide computes the answers to ResourcePoolStatusRequests, and when requests are deleted. It is pure.
//
//minikcm:pure
package decide
