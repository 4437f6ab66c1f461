// Package loop is the work queue loop of all controllers and simulated kubelets. It is built
// on inflight.Queue, which wraps client-go's work queue. It guarantees:
//
//   - A key is reconciled by one worker at a time. Adds during a reconcile are merged into
//     one further reconcile.
//   - A reconcile that fails or panics affects only its key: the loop logs and counts the
//     failure, and retries the key with an exponential back-off of its own.
//   - Delays use AfterFunc of the cluster's clock, so a virtual clock neither skips them nor
//     fires them early.
//   - The ledger counts a key from its Add until its reconcile has ended.
//   - The context of a reconcile carries the revisions of the events that enqueued the key,
//     as the causes of its writes.
//   - Run returns only when every goroutine and timer that it started has ended.
//
// A Deployment web changes, and then one of its pods while web is being reconciled:
//
//	an informer's goroutine     the worker                          keys in the ledger
//	revision 7 of web:
//	  Add(web, 7)                                                   web waits
//	                            takes web, and its cause 7          web runs
//	                            reads the cache
//	revision 8 of a pod:
//	  Add(web, 8)                                                   web runs, and is added again
//	                            writes, with the cause 7
//	                            Done                                web waits
//	                            takes web, and its cause 8          web runs
//	                            a conflict: web keeps the cause 8,
//	                            AddAfter(5ms)
//	                            Done                                none: time may pass
//	the clock's goroutine, 5 ms later:
//	  Add(web)                                                      web waits
//
// The first reconcile may have read the cache before revision 8 or after it; the second one sees it in any case.
// Add stores the causes before it queues the key, so that the worker that takes the key finds them.
package loop
