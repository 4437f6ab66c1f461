// Package decide decides which ResourceSlices a node with simulated devices has, and the writes
// that create this state. It does not change its arguments.
//
//minikcm:pure
package decide
