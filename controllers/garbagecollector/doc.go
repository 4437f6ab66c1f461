// Package garbagecollector is the garbage-collector-controller: it deletes
// objects whose owners are all gone, and carries out foreground and orphaning
// deletion, by the ownerReferences and finalizers of the Kubernetes API.
//
// Graph is a pure data structure that knows who owns whom, fed by informers and
// by live look-ups. It is owned by one caller at a time and does no I/O. What is
// to be done about an object is a pure decision (decide.go) on a view of the graph
// and on the state of the object's owners; controller.go gathers, decides and acts.
//
// It guarantees that an object is deleted only when the API said at that time
// that none of its owners exists (or that one of them waits for its dependents to go),
// and only in the very version that was judged: every delete carries UID and
// resourceVersion preconditions.
package garbagecollector
