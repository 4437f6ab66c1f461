// Package kwokcel evaluates the CEL expressions of kwok's usage and metrics
// (https://kwok.sigs.k8s.io/docs/user/cel-expressions/): over the variables node, pod and container,
// with the functions Now, Rand, SinceSecond, UnixSecond, Quantity, StartedContainersTotal, Usage and
// CumulativeUsage. Expressions are checked against the types of the API when they are compiled. A
// field without a value has the zero value of its type.
//
// It is pure: time, chance and usage are arguments. An expression has a budget of bytes, and its
// evaluation one of cost, as CEL counts it.
//
//minikcm:pure
package kwokcel
