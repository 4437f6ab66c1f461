// Package bench measures what a user waits for: the start of a cluster, a Deployment until it
// is Available, and the memory of an idle cluster. Each figure is the median of all runs and is
// compared with the raw puts of the same embedded etcd on the same machine.
package bench
