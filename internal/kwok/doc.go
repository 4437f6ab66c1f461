// Package kwok reads the objects by which kwok simulates usage (kwok.x-k8s.io/v1alpha1):
// ResourceUsages and ClusterResourceUsages, which declare the usage of containers, and Metrics,
// which declare the metrics that nodes serve at a path. It also reads files, which may have kwok's
// Stages (package stages) in addition.
//
// It is pure: Usages are the rules of package usage, and a Metric writes its series for objects, a
// time and a usage that are arguments. It follows
// https://kwok.sigs.k8s.io/docs/user/resource-usage-configuration/ and
// https://kwok.sigs.k8s.io/docs/user/metrics-configuration/. Package kwokcel evaluates the
// expressions. The size and the number of expressions of an object are limited, and so is the cost of
// the expressions in a Metric's response.
//
//minikcm:pure
package kwok
