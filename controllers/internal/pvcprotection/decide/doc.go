// Package decide decides whether pods in a snapshot keep a PersistentVolumeClaim that is being
// deleted, and determines a claim's condition Unused.
//
//minikcm:pure
package decide
