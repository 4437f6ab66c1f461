// Package decide decides which ResourceSlices a node with simulated devices has, and what must be
// written so that it has these. It does not change its arguments.
//
//minikcm:pure
package decide
