// Package decide decides which pods a ReplicaSet creates, deletes, adopts or releases, and its
// status. It deletes the pods that are missed least, in upstream's order. It depends on its
// arguments alone and does not change them.
//
//minikcm:pure
package decide
