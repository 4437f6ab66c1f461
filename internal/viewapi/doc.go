// Package viewapi serves kinds of the simulation's API whose objects are views of others (docs/decisions/0086-views-of-configmaps.md). An
// ImageProfile or a StaticPodFolder is the ConfigMap of its name in kube-system, and a NodePool the Nodes that are called as it is, with a
// number. Nothing else is kept, so that they outlast the process, and are in dumps, snapshots and forks. Writes are made with the rights
// of the user who makes them, and what the nodes could not read is refused.
package viewapi
