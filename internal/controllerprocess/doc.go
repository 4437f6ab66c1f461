// Package process runs a manager as a process of its own, against any cluster: its flags (the flags
// of kube-controller-manager that have an effect here), its leader election, its HTTPS server, and
// the controllers under the lease. It needs only the Kubernetes API of the cluster. When Run
// returns, everything that it started has ended and the leases are released.
package process
