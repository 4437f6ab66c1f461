// Package disruption records in a pod's status why a controller is about to delete it: the
// condition DisruptionTarget (KEP-3329), and the phase Failed when the kubelet cannot
// report how the pod ended.
package disruption
