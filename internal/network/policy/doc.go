// Package policy decides which connections the NetworkPolicies of a cluster allow, by the rules of the API's
// documentation (https://kubernetes.io/docs/concepts/services-networking/network-policies/), and its ClusterNetworkPolicies
// (https://network-policy-api.sigs.k8s.io). It is pure.
//
// A Set holds the policies of a cluster, compiled: each is found by its namespace and one of the labels that its
// selector requires, so that a decision does not depend on the number of policies that select other pods. A Verdict
// names the policies that select either side, and the rule that allows the connection, or says of each policy why
// it does not.
//
// Where the documentation leaves a choice to the implementation, this one does what most do:
//
//   - A pod of the host network is its node: no selector selects it, and only an ipBlock allows it.
//   - An ipBlock also matches the addresses of pods.
//   - A connection to a Service is judged by the endpoint's address and port.
//   - A named port of an egress rule is a port of the pod that is connected to.
//
//minikcm:pure
package policy
