// Package scenarios runs chaos scripts: a file says what cluster to start, what to
// apply, what to break, and what must hold; Run does it on the cluster's time and
// says what differed. A file is checked whole before anything starts. Nothing is
// polled: every wait and every invariant follows watches. New does the same from Go,
// for tests.
//
// Virtual time moves only while every branch of a scenario waits: a branch that does
// something counts as in flight.
package scenarios
