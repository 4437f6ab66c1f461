// Package quota knows what an object uses of a ResourceQuota, which quotas it counts
// for, and what they demand of it (Kubernetes documentation, "Resource Quotas"). The
// apiserver refuses by it, the resource quota controller counts by it, so that both
// always agree. It holds no state.
package quota
