// Package cloudnodelifecycle is the cloud-node-lifecycle-controller over the simulated cloud: it
// deletes Nodes whose instances do not exist, taints those whose instances are shut down, and
// takes the taint off again. Only Nodes that are not Ready are looked up in the cloud. A Node
// that became Ready again is not deleted, even if the controller has not seen that yet: the
// deletion is for the state that it saw.
//
// Passes are as far apart as upstream's, but a pass handles only the Nodes that have changed or
// whose instances have changed. Nodes that the cloud does not know, because they belong to another
// one, are left alone. Of upstream's metrics, the duration of a pass is missing.
//
// The package decide decides what to do with a Node.
package cloudnodelifecycle
