// Package heartbeats decides which heartbeats of simulated nodes are written on virtual time. A kubelet
// renews its Lease every ten seconds and reports its status every five minutes. While nothing observes
// them, these writes change nothing but times, so the kubelets make them before the next read: Elision
// counts the observers, and asks the kubelets to write what was due (docs/decisions/0067).
package heartbeats
