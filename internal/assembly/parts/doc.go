// Package parts builds and runs the parts of a cluster that are clients of its API server: the
// controllers, the scheduler and the simulated kubelets. Build makes parts that make no request yet,
// because the API server needs the kubelets; Start runs them once it serves. They work from the start
// to the end, while they hold the leases of a leader election, or while this process has their roles
// among several processes on one etcd.
package parts
