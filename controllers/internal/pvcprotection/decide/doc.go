// Package decide decides about PersistentVolumeClaims: whether pods in a snapshot keep one that is
// being deleted, and what the condition Unused of one should be.
//
//minikcm:pure
package decide
