// Package scheduler assigns pods of the default scheduler to nodes, as
// kube-scheduler does with its default profile. It guarantees:
//
//   - A decision is a pure function of a pod and an immutable snapshot of the
//     nodes (Decide, Preempt); equal snapshots and equal picks give equal
//     decisions.
//   - A chosen node counts the pod from the decision on, whether or not the API
//     has heard of it: no node is given more than it has, whatever is bound
//     meanwhile.
//   - A pod that fits nowhere says why, in kube-scheduler's words, and is looked
//     at again when a node changed so that it may fit there.
//   - The ledger counts every pod that could be decided upon now; pods that wait
//     for the cluster to change, or for a back-off to end, are not in flight.
package scheduler
