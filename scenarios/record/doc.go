// Package record keeps what happened in a run: steps, faults, what was written by
// whom and why, events, pods by phase and what the controllers did, all in the
// cluster's time. Memory is bounded however long a run takes: the first and the
// newest writes and events are kept whole, and the curves get coarser as time goes
// on; a Run says what was forgotten. Nothing is polled, and nothing the record does
// changes the course of a run.
package record
