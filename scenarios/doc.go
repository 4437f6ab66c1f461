// Package scenarios runs chaos scripts. A file describes the cluster to start, the objects to
// apply, the faults to inject and the checks that must hold. Run runs it in the cluster's time, and
// returns the differences. A file is checked whole before anything starts. Waits and invariants
// follow watches, and poll nothing. New does the same from Go, for tests.
//
// The table stepKinds lists the kinds of steps. Package spec defines the form of a file.
//
// Virtual time moves only while every branch of a scenario waits: a branch that does
// something is in flight.
package scenarios
