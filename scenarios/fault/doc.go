// Package fault breaks things: pods, nodes, the API server, etcd, controllers and the
// clock, once, for a while, at a rate or on a schedule. What is hit is chosen by the
// seed. What a fault has changed it takes back when it ends, also when it is
// interrupted.
package fault
