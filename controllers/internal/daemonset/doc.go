// Package daemonset is the daemonset-controller: it keeps one pod of a template on each
// eligible node, and updates the pods node by node within limits, or when they are deleted.
// The scheduler binds the pods, whose node affinity names their node. The pure package
// decide decides; the controller gathers its snapshot and executes its plan.
package daemonset
