// Package job is the job-controller: pods that run a Job to its end, and its
// status. It guarantees that every pod of a Job is counted exactly once, though
// the count is in one object and the pods are others: a pod keeps its finalizer
// until its UID is in the status (uncountedTerminatedPods), and the UID stays
// there until the pod has no finalizer
// (https://kubernetes.io/docs/concepts/workloads/controllers/job/#job-tracking-with-finalizers).
// What is to be done is decided by the pure function Decide; the controller
// gathers its snapshot and executes its plan. A second loop takes the finalizer
// from pods whose Job has gone or has finished.
package job
