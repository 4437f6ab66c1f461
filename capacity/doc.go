// Package capacity answers questions about the capacity of a cluster on a fork of it: a new
// cluster in the process, in virtual time, that begins with the state of the other one. What
// is asked is done to the fork, its controllers, scheduler and simulated nodes act on it, and
// what came of it is compared with what was before. The cluster that is asked about is only
// read.
package capacity
