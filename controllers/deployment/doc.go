// Package deployment is the deployment-controller: it rolls a pod template out
// over ReplicaSets, a step at a time, and keeps their history. What the next step
// is, is decided by the pure function Decide; the controller gathers its snapshot
// and executes its plan.
//
// It is stricter than upstream in one thing: a ReplicaSet whose status is older
// than its spec is not counted on, so that maxSurge and maxUnavailable hold for
// the pods that are, not only for the numbers that were asked for.
package deployment
