// Package bench measures what a user waits for: a cluster's start, a Deployment's
// way to Available, and the memory of an idle cluster. Each figure is the median of
// all runs, beside the raw puts of the same embedded etcd on the same machine.
package bench
