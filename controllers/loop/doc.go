// Package loop is the queue loop of every controller and of the simulated kubelets,
// written once on inflight.Queue, which is client-go's work queue. It guarantees:
//
//   - A key is reconciled by one worker at a time; adds that come meanwhile are
//     merged into one further reconcile.
//   - A failed or panicking reconcile concerns its key only: it is logged with
//     the key, counted, and tried again with exponential back-off of its own.
//   - Delays end by AfterFunc of the cluster's clock, so that a virtual clock
//     neither jumps over them nor fires them early.
//   - The ledger counts a key from its Add until its reconcile has ended.
//   - The revisions of the events that woke a key travel in the reconcile's
//     context as the causes of its writes.
//   - Run returns only when every goroutine and timer that it started has ended.
package loop
