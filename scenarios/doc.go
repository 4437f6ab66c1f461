// Package scenarios runs chaos scripts. A file says what cluster to start, what to apply, what
// to break, and what must hold. Run does that in the cluster's time, and returns what
// differed. A file is checked whole before anything starts. Waits and invariants follow
// watches, and poll nothing. New does the same from Go, for tests.
//
// What a step can do is the table stepKinds. The form of a file is package spec.
//
// Virtual time moves only while every branch of a scenario waits: a branch that does
// something is in flight.
package scenarios
