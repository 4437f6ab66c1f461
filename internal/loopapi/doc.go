// Package loopapi serves the loops of a cluster's controllers at /minikcm/v1/loops/NAME: the
// contents of their informers and queues, and the keys that their workers reconcile. With
// follow=true, it streams this, and the steps that the loops make meanwhile. Nothing is
// recorded while nothing follows.
//
// At /minikcm/v1/debugger it serves the debugger, which holds the cluster's work at each stage while a client
// streams it, and says what waits and why.
package loopapi
