// Package decide assesses the remaining content of a namespace that is being deleted: how long its
// deletion takes, when to check again, and the conditions of the namespace. It depends on its
// arguments alone and does not change them.
//
//minikcm:pure
package decide
