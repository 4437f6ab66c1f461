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
//
// Only the cache's goroutine changes the state. It applies a batch of the store and queues its events for
// all watchers in one critical section, and a watch that begins reads the history and joins the watchers in
// another one. So B, which asks for the changes after revision 5, misses none, and gets none twice:
//
//	the cache's goroutine            watcher A's reader         B: Watch(Revision: 5)
//	applied revision 6               Next: 6
//	decodes revision 7, unlocked                                locks: the ring has 6: the backlog;
//	                                                            sent = 6; joins the watchers; unlocks
//	locks: state and ring get 7,
//	  queues it for A and B, whose
//	  sent is 6; rev = 7; unlocks
//	                                 Next: 7                    Next: 6, from the backlog
//	                                 handles 7                  Next: 7, from the queue
//	                                 Next: the ledger counts
//	                                   7 no longer; waits
//
// If B read the ring in one critical section and joined in another, the cache could apply 7 in between, and
// B would not see it. A reader filters its backlog outside the lock, so that a watch with a long history
// does not delay the others.
package watchcache
