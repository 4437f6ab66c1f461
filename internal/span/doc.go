// Package span computes with durations that may be Forever, the duration of what never
// ends. Forever is absorbing: adding to it, or adding it, yields Forever, and nothing
// overflows.
//
//minikcm:pure
package span
