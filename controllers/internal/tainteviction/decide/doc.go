// Package decide decides when a pod is evicted from a node with NoExecute taints, by the shortest
// of the times that it tolerates them. It depends on its arguments alone and does not change
// them.
//
//minikcm:pure
package decide
