// Package remedy knows the usual remedies for requests that fail while pods move: further replicas, other nodes, a preStop hook, a budget.
//
//minikcm:pure
package remedy
