// Package cause carries the reason of a write from the reconcile that decided it
// to the apiserver that records it: the resourceVersions of the events that woke
// the reconcile travel in the context, and the transport puts them into a
// request header.
package cause
