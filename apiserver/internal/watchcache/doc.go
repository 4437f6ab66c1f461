// Package watchcache keeps the objects below one prefix of a store in memory and serves
// lists and watches from it. It guarantees:
//
//   - A read returns the store's state at one revision. A watcher receives every
//     change that its selectors match exactly once, in the order of revisions and
//     without a gap from the revision that it started at, or the watch ends.
//   - Each change is decoded at most once, and encoded at most once per media type,
//     for all watchers. An object that this process announced by Wrote is not decoded.
//   - A slow watcher does not delay others: the watch ends when its buffer is full.
//   - While an event that this process wrote has not been queued, or a queued event
//     has not been handled by its watcher, the clock's ledger counts it.
package watchcache
