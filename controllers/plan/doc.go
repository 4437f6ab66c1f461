// Package plan is what a controller's decision comes to, as a value, and its
// execution against the API. A decision is made without side effects; the
// executor carries it out in order, stops at the first step that fails, reports
// what became of each action as an Event about the owner, and tells the tracker
// of every write, so that the owner is not looked at again before the caches
// have seen them. Errors that only say that the cache was behind are marked as
// stale: the event that brings the cache up to date wakes the owner anyway.
package plan
