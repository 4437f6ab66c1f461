// Package decide decides the next actions of a Job: which pods to create, delete, adopt, release
// or count, and the status. It guarantees that each pod that ends is counted once: its finalizer
// is removed only after the status that counts it is stored. It depends on its arguments alone
// and does not change them.
//
//minikcm:pure
package decide
