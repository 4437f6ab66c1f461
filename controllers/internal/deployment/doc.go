// Package deployment is the deployment-controller: it rolls out a pod template over
// ReplicaSets, a step at a time, and keeps their history. The pure package decide decides
// the next step; the controller gathers its snapshot and executes its plan.
//
// It is stricter than upstream in one respect: it does not rely on a ReplicaSet whose
// status is older than its spec, so that maxSurge and maxUnavailable hold for the pods that
// exist, not only for the numbers in the specs.
package deployment
