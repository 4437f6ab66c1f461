// Package watchcache keeps the objects below one prefix of a store in memory and
// lets many watch them. It guarantees:
//
//   - What it serves is the store's state at one revision. A watcher gets every
//     change that its selectors let through once, in the order of revisions,
//     without a gap from the revision that it began at, or it is ended.
//   - A change is decoded at most once and encoded at most once for each form,
//     whoever watches. An object that this process announced by Wrote is not decoded.
//   - A slow watcher is ended, never waited for.
//   - While a change that this process wrote, or anything queued for a watcher, has
//     not been taken by all who watch, the clock's ledger counts it.
package watchcache
