// Package decide assesses what is left of a namespace that is being deleted: how long the rest
// takes, when to look again, and the conditions of the namespace. It depends on its arguments
// alone and does not change them.
//
//minikcm:pure
package decide
