// Package election lets one of several processes work at a time. Lead runs work while
// this process holds a lease; the lease is kept until the work has ended, and given
// up then, so that the next leader neither comes too early nor waits for the lease to
// run out. Migrate does the same with two leases, of which the second belongs to the
// controllers that are moving to another manager
// (https://kubernetes.io/docs/tasks/administer-cluster/controller-manager-leader-migration/).
package election
