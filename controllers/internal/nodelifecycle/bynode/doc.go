// Package bynode finds the pods of a node by an index on the shared informer, for
// the controllers that act on nodes.
package bynode
