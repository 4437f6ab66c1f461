// Package daemonset is the daemonset-controller: one pod of a template on each node
// that may have one, and updates of them, node by node within limits, or when they
// are deleted. The pods are bound by the scheduler, to whom they name their node.
// What is to be done is decided by the pure function Decide; the controller gathers
// its snapshot and executes its plan.
package daemonset
