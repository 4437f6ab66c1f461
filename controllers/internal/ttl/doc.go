// Package ttl is the ttl-controller: it keeps the annotation node.alpha.kubernetes.io/ttl of
// every node at the time, in seconds, for which kubelets should cache the Secrets and
// ConfigMaps of their pods. The time grows with the number of nodes, in steps whose bounds
// overlap, so that a cluster whose size varies about a bound does not change all its nodes.
// After a step each node keeps its old annotation until its next event, such as a status of
// its kubelet, as upstream.
package ttl
