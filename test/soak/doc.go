// Package soak runs a cluster under random faults for a long time and checks that it recovers
// and leaks nothing.
package soak
