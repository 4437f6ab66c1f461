// Package runrecord keeps what happened in a run: steps, faults, writes with their users and
// causes, events, pods by phase and the controllers' work, all in the cluster's time. Its
// memory is bounded, however long a run takes: the first and the newest writes and events are
// kept whole, and the curves get coarser with time; a Run says what was left out. The record
// polls nothing, and never changes the course of a run.
package runrecord
