package ttl

import (
	"math"
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// step is a time to live for the clusters of a range of sizes.
type step struct {
	// minNodes and maxNodes bound the range; both are in it.
	minNodes, maxNodes int
	seconds            int
}

// steps are upstream's. Each begins below the end of the previous one, so that a cluster at a bound does not switch
// to and fro.
var steps = [...]step{
	{0, 100, 0},
	{90, 500, 15},
	{450, 1000, 30},
	{900, 2000, 60},
	{1800, math.MaxInt, 300},
}

// next returns the index of the step for a cluster of that many nodes, whose present step is current.
func next(current, nodes int) int {
	for nodes > steps[current].maxNodes {
		current++
	}
	for nodes < steps[current].minNodes {
		current--
	}
	return current
}

// has reports whether the node's annotation is the given number of seconds, in whatever
// notation.
func has(node *corev1.Node, seconds int) bool {
	value, err := strconv.Atoi(node.Annotations[corev1.ObjectTTLAnnotationKey])
	return err == nil && value == seconds
}
