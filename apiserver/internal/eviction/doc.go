// Package eviction decides about API-initiated evictions: whether the pod's PodDisruptionBudget has a
// disruption left, which it then takes.
package eviction
