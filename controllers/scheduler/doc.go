// Package scheduler assigns pods of the default scheduler to nodes, as
// kube-scheduler does with its default profile. It guarantees:
//
//   - A decision is a pure function of a pod and an immutable snapshot of the
//     nodes (Decide, Preempt); equal snapshots and equal picks give equal
//     decisions.
//   - What spread constraints and pod affinity count is kept up to date with each
//     pod that comes or goes; no decision counts pods.
//   - Of equal nodes a pod gets one by the cluster's seed and its UID, and pods of
//     one instant are decided upon by name, so that it matters little which
//     goroutine came first.
//   - A chosen node counts the pod from the decision on, whether or not the API
//     has heard of it: no node is given more than it has, whatever is bound
//     meanwhile.
//   - A pod that fits nowhere says why, in kube-scheduler's words, and is looked
//     at again when a node or a pod changed so that it may fit somewhere.
//   - The ledger counts every pod that could be decided upon now; pods that wait
//     for the cluster to change, or for a back-off to end, are not in flight.
package scheduler
