// Package disruption keeps the status of PodDisruptionBudgets: how many pods there
// should be, how many are healthy, and how many may be evicted now. Evictions through
// the API are granted against that status, and never more than it allows. It also
// takes back the announcement of a disruption that has not come about.
//
// It follows upstream's disruption-controller (Kubernetes documentation, "Specifying a
// Disruption Budget for your Application").
package disruption
