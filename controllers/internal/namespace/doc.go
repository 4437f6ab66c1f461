// Package namespace is the namespace-controller: it deletes the contents of a namespace
// that is being deleted, and then finalizes it.
//
// It deletes pods before everything that they may still need (KEP-5080). It removes the
// kubernetes finalizer only after a pass in which discovery succeeded and every listable
// resource of the namespace was empty. The namespace's conditions report what it waits for.
package namespace
