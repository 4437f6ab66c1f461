// Package decide decides which nodes should have a pod of a DaemonSet, the next step of a
// rolling update, and the status. It guarantees that an update keeps within maxSurge and
// maxUnavailable, and that a pod that fails again and again is replaced with a growing delay.
// It depends on its arguments alone and does not change them.
//
//minikcm:pure
package decide
