// Package faults decides what the faults of a network do to a connection: whether its packets are lost, how long they take,
// which answers are others. The random numbers of a connection are its input, so that equal ones have equal results.
//
//minikcm:pure
package faults
