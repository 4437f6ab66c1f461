// Package soak runs a cluster under random faults for a long time, and looks for what
// does not come back and for what piles up.
package soak
