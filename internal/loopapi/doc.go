// Package loopapi serves the loops of a cluster's controllers at /minikcm/v1/loops/NAME: what
// is in their informers, their queues and with their workers. With follow=true, it streams
// this, and the steps that the loops make meanwhile. Nothing is recorded while nothing
// follows.
package loopapi
