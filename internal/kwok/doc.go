// Package kwok reads the objects by which kwok simulates usage (kwok.x-k8s.io/v1alpha1):
// ResourceUsages and ClusterResourceUsages, which say what containers use, and Metrics, which say
// what nodes report at a path. It also reads files, which may have kwok's Stages (package stages) in
// addition.
//
// It is pure: Usages are the rules of package usage, and a Metric writes its series for objects, a
// time and a usage that are arguments. It follows
// https://kwok.sigs.k8s.io/docs/user/resource-usage-configuration/ and
// https://kwok.sigs.k8s.io/docs/user/metrics-configuration/. Expressions are those of package kwokcel.
// An object has budgets of bytes and expressions, and the answer of a Metric one of their cost.
//
//minikcm:pure
package kwok
