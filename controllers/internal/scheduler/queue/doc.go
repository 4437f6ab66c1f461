// Package queue holds the pods that wait for a node: those that can be decided on now, by
// priority, and those that wait for a back-off, for an event, or for their scheduling gates
// to be removed. The in-flight ledger counts the former and not the latter, so virtual time
// moves on while pods are unschedulable. No event is lost: one that arrives while a pod is
// being decided on is considered when the pod is put back.
package queue
