// Package plugins decides which node a pod goes to: Decide runs kube-scheduler's filter and score
// plugins, as a Profile selects them, over a snapshot, Preempt finds the pods to delete for a pod that
// fits on no node. Both are pure functions: equal snapshots, inputs and picks give equal
// decisions. Reasons and messages are kube-scheduler's.
//
//minikcm:pure
package plugins
