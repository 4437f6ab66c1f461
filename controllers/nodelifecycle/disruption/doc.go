// Package disruption tells in a pod's status why a controller is about to delete it:
// the condition DisruptionTarget (KEP-3329), and the phase Failed when nobody else
// can report how the pod ended.
package disruption
