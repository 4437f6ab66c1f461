// Package controller is the frame of all controllers. A controller is a value, its Descriptor: names, flags, what it
// reads and writes, and Build, which puts an instance together from the parts that it gets: a client, informers, loops.
// The frame makes the parts, and runs the instance until its context ends. A package of a controller has what only that
// controller does: which events wake which keys, what it gathers, decides and writes.
package controller
