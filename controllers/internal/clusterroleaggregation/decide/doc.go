// Package decide decides which rules a ClusterRole with an aggregation rule has. It depends
// on its arguments alone and does not change them.
//
//minikcm:pure
package decide
