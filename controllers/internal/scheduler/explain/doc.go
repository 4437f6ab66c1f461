// Package explain writes down how a decision of the scheduler came about, in annotations of the pod
// that asks for it (minikcm.dev/explain-scheduling: "true"). The results of filters and scores have
// the same names and JSON format as in kube-scheduler-simulator. It is pure, and limits the size of
// the annotations.
//
//minikcm:pure
package explain
