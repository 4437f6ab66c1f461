// Package extender calls the HTTP extenders of a KubeSchedulerConfiguration, with the types of
// k8s.io/kube-scheduler/extender/v1, and turns their answers into inputs of a decision: excluded
// nodes, scores and victims. What follows from an answer is a pure function of it (answers.go).
package extender
