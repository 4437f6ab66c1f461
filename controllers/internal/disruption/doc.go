// Package disruption is the disruption-controller. It maintains the status of
// PodDisruptionBudgets: how many pods there should be, how many are healthy, and how many
// may be evicted now. The API server grants evictions by that status, and never more than
// it allows. The controller also withdraws the announcement of a disruption that did not
// happen.
//
// It follows upstream's disruption-controller (Kubernetes documentation, "Specifying a
// Disruption Budget for your Application").
package disruption
