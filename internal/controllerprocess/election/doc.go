// Package election provides leader election. Lead runs work in at most one of several processes at
// a time: this process holds a lease until the work has ended and releases it then. So the next
// leader neither starts too early nor waits for the lease to expire. Migrate does the same with two
// leases; the second belongs to the controllers that are moving to another manager
// (https://kubernetes.io/docs/tasks/administer-cluster/controller-manager-leader-migration/).
package election
