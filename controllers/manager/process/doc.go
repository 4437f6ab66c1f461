// Package process is a manager that runs as a process of its own, against any
// cluster: its flags, which are kube-controller-manager's as far as they have an
// effect here, its leader election, what it serves, and the controllers under the
// lease. Nothing but the Kubernetes API is asked of the cluster. When Run returns, all
// that it started has ended and the leases are given up.
package process
