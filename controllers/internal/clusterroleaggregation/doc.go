// Package clusterroleaggregation is the clusterrole-aggregation-controller: it gives every
// ClusterRole with an aggregation rule the rules of the ClusterRoles that the rule selects,
// and corrects them after a change of either.
package clusterroleaggregation
