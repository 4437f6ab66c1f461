// Package explain writes down how a decision of the scheduler came about, in annotations of the pod
// that asks for it (minikcm.dev/explain-scheduling: "true"). The names and the JSON of the results of
// filters and scores are those of kube-scheduler-simulator. It is pure, and limits what it writes.
//
//minikcm:pure
package explain
