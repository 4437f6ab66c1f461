// Package linearizability checks what clients of the API observe: that gets, lists and
// conditional writes have an order in which each sees all earlier ones (with porcupine), that
// revisions follow real time, and that watch streams agree with that order. A request whose outcome
// the client cannot know, such as a write that timed out, may or may not have taken effect.
//
// A Workload records the histories that Check judges; test/ha uses both under faults of
// processes and networks.
package linearizability
