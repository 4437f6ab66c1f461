// Package summary composes a kubelet's response at /stats/summary about the resources of its node
// and its pods: it turns the usage of containers, which other packages compute, into the sums and
// the fields of k8s.io/kubelet/pkg/apis/stats/v1alpha1. Equal input gives an equal summary, with
// pods, containers and volumes in the order of their names.
//
//minikcm:pure
package summary
