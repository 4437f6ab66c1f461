// Package quota calculates an object's usage of a ResourceQuota, and decides which quotas
// apply to the object and what they require of it (Kubernetes documentation, "Resource
// Quotas"). The API server enforces quotas with it and the resource quota controller counts
// with it, so that both always agree. It holds no state.
package quota
