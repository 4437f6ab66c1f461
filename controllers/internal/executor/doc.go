// Package executor executes plans against the API. It carries out the actions in order,
// stops at the first one that fails, reports the result of each action as an event about
// the owner, and passes every write to the tracker, so that the owner is not reconciled
// again before the caches show the writes. It marks errors that only mean that the cache
// was behind as stale: the event that brings the cache up to date enqueues the owner
// anyway.
package executor
