// Package election is leader election on the cluster's clock. It follows client-go's
// tools/leaderelection, whose elector uses the machine's clock: the lease of another candidate has
// expired if it was not observed to change for its duration, and a leader that fails to renew its
// lease within the renew deadline stops leading. A request for the lease may take half the renew
// deadline, as upstream's client for leases allows.
package election
