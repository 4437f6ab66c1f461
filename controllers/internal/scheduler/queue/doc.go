// Package queue holds the pods that wait for a node. Active pods can be decided on now, by
// priority; the others wait for a back-off, for an event, or for their scheduling gates to be
// removed. The in-flight ledger counts only active pods, so virtual time moves on while pods are
// unschedulable. No event is lost: one that arrives while a pod is being decided on is considered
// when the pod is put back.
package queue
