// Package nodeipam is the node-ipam-controller with upstream's range allocator: it gives every
// Node without pod networks one of each of the cluster's ranges of pod addresses, records those
// that Nodes have already, and gives them back when the Node is deleted. No two Nodes get
// networks that overlap, also after a restart: what Nodes have is read from the API before the
// first network is handed out, and given back only when a read from the API shows that the Node
// is gone.
//
// A Node for which no network is left gets upstream's event CIDRNotAvailable. Unlike upstream's,
// the controller does not wait for the next attempt when another Node is deleted. It ignores
// networks outside of the cluster's ranges, at which upstream's fails.
package nodeipam
