// Package decide calculates the status of a PodDisruptionBudget: how many of its pods may be
// evicted. If that cannot be calculated, none may be. It also decides when an announced
// disruption of a pod is withdrawn. It depends on its arguments alone and does not change them.
//
//minikcm:pure
package decide
