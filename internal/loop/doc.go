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
package loop
