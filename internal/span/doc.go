// Package span computes with durations that may be Forever, an endless duration. Forever is
// absorbing: adding to it, or adding it, yields Forever, and nothing overflows.
//
//minikcm:pure
package span
