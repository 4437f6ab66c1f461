// Package capacity answers questions about the capacity of a cluster. It forks the cluster:
// it starts a new cluster in the process, in virtual time, with the same state. It applies
// the changes in question to the fork, lets the fork's controllers, scheduler and simulated
// nodes act until nothing changes any more, and compares the states before and after. The
// original cluster is only read.
package capacity
