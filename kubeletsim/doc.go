// Package kubeletsim is the nodes of a cluster without machines: it registers
// Nodes, keeps their leases and conditions, and takes the pods that are bound to
// them through the life that a kubelet and a container runtime would give them.
// One engine with one timer heap serves all nodes; there is no goroutine a pod or
// a node. What a pod does is decided by a pure function from the pod, the
// simulated runtime's state and the cluster's time; everything that the API shows
// was done by that simulation. It knows the apiserver only as a client.
//
// Pods and their templates may tell how they behave by annotations; see
// Annotations for the list.
package kubeletsim
