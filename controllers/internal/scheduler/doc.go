// Package scheduler assigns pods to nodes as kube-scheduler does, with the profiles of a
// KubeSchedulerConfiguration (package config) or its default one. It is the scheduling cycle: one goroutine takes a pod from the queue (package queue), brings
// the snapshot up to date (package cache), decides on it (package plugins) and adds the pod to
// the cache, after it has asked HTTP extenders (package extender); API workers then write bindings, evictions and conditions. It guarantees:
//
//   - A decision is a pure function of a pod and an immutable snapshot of the nodes; equal
//     snapshots and equal picks give equal decisions.
//   - Ties between nodes are broken by the cluster's seed and the pod's UID, and pods of one
//     instant are decided on in the order of their names, so the order in which events arrive
//     has little influence.
//   - A pod counts on its node from the decision on, before the API server stores the binding.
//   - The FailedScheduling event and the PodScheduled condition of an unschedulable pod have
//     kube-scheduler's text. The pod is retried when a node or a pod changes so that it may
//     be schedulable.
//   - A gang gets nodes for enough of its pods at once, or for none. A preemption, by a pod or a PodGroup, deletes
//     nothing unless the preemptor fits afterwards.
//   - A device is never allocated to two resource claims: an allocation counts from the decision
//     on, and until the informer shows the claim that has it, also if the scheduler creates that
//     claim for extended resources. A pod whose resource claims do not exist is not decided on.
//   - The in-flight ledger counts every pod that can be decided on now. Pods that wait for an
//     event or for the end of a back-off are not in flight.
package scheduler
