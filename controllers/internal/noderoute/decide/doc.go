// Package decide decides which routes the route controller deletes and creates, and which condition
// NetworkUnavailable a Node gets. The routes that result lead each pod network of a Node to that
// Node, and their destinations overlap no more than these networks do. Routes outside of the
// cluster's ranges are left alone.
//
//minikcm:pure
package decide
