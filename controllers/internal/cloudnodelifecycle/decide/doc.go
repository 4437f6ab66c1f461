// Package decide decides which action cloud-node-lifecycle-controller takes on a Node: a Node that
// is not Ready is deleted if its instance does not exist, and tainted if that is shut down; a Node
// that is Ready is never deleted, and loses the taint.
//
//minikcm:pure
package decide
