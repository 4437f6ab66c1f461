// Package cloudnode is the cloud-node-controller of a cloud-controller-manager, over the
// simulated cloud: it initializes Nodes that registered with the taint
// node.cloudprovider.kubernetes.io/uninitialized. They get the provider ID, labels and addresses
// of their instance, and lose the taint. Addresses that differ later are written at the next
// pass, of which there is one every five minutes.
//
// Upstream runs it in a cloud-controller-manager, whose flags for the period and the number of
// workers there are none of here. The package decide decides on the labels, addresses and taints of a Node.
package cloudnode
