// Package decide computes the answers to ResourcePoolStatusRequests, and when requests are deleted. It is pure.
package decide
