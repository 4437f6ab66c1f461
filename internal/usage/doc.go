// Package usage computes the CPU and memory usage of simulated pods, and the values of custom and
// external metrics. A Model is a pure function of API objects, time and seed: nothing runs between
// two samples, and no state is kept.
//
// Loads (see Load) come from annotations: AnnotationCPU and AnnotationMemory for a pod's
// containers, AnnotationLoad for a total that the ready pods of a workload share, and
// AnnotationMetric for custom metrics. For containers without an annotation, Rules may declare their
// usage. A container without either uses half of its requests. Where
// the containers of a node want more CPU than it has, ShareCPU divides it among them. Counters add up
// the usage of a container, and count the periods in which its CPU limit has stopped it.
//
//minikcm:pure
package usage
