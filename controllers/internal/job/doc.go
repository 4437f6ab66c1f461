// Package job is the job-controller: it runs the pods of a Job to completion and maintains
// its status. It counts every pod of a Job exactly once, although count and pods are in
// different objects: a pod keeps its finalizer until the status lists its UID
// (uncountedTerminatedPods), and the UID stays in the list until the pod has no finalizer
// (https://kubernetes.io/docs/concepts/workloads/controllers/job/#job-tracking-with-finalizers):
//
//	status write 1     the list gets the UID of pod p, which has succeeded
//	pod patch          p loses its finalizer and may be deleted
//	status write 2     the list loses the UID, and succeeded grows by 1, in one write
//
// A crash between two steps repeats the later one. Without the list, p would be counted
// twice if the count came first and a crash followed, or never if the patch came first and
// p was deleted.
//
// The pure package decide decides; the controller gathers its snapshot and executes its
// plan. The snapshot comes from accounts of the pods, which their events update, so that the cost of a reconcile
// depends on the number of changes and not on the number of the Job's pods (package tally). A second loop removes the
// finalizer from pods whose Job is gone or has finished.
package job
