// Package decide decides when a pod is evicted because of the taints of its devices.
//
//minikcm:pure
package decide
