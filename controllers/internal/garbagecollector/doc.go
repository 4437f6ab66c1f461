// Package garbagecollector is the garbage-collector-controller: it deletes objects whose
// owners are all gone, and executes foreground and orphaning deletion, by the
// ownerReferences and finalizers of the Kubernetes API.
//
// Package graph has the owners and dependents, fed by informers and by live look-ups, and
// decides about an object from a view of the graph, which includes the states of the object's
// owners. It is pure, and used by one goroutine at a time; controller.go takes the view,
// decides and acts.
//
// An object is deleted only after the API has confirmed that none of its owners exists (or
// that one of them waits for its dependents to be deleted), and only in the version that
// was judged: every delete has UID and resourceVersion preconditions. A stale graph
// therefore deletes nothing:
//
//	collect   reads the view of pod p, version 7, whose owner is unknown to the graph
//	collect   looks up the owner: it does not exist
//	client    gives p another owner: version 8
//	collect   deletes p at version 7: conflict, and p's event at version 8 enqueues it again
package garbagecollector
