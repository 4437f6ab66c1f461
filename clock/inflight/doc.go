// Package inflight counts the work that is in flight in one cluster, and is the only
// one that does: a Ledger has no method that counts. Virtual time stands still while the
// ledger counts anything, and where work takes turns, one piece of it is done at a time.
//
// What counts is what its users would have to write anyway:
//
//   - Work is one piece of work, from Begin until End; Sleep, and waiting for a Latch or
//     a Group, do not count. Its context carries it (With).
//   - Queue hands keys to workers and Line anything else; Gate is work that waits to be
//     raised.
//   - Alarms are keys that wait for a time.
//   - Flag and Tally count what is in a buffer, or is owed.
//
// One rule makes the count exact: what hands work on counts the next piece before it
// ends its own. So whatever wakes work, a timer, a grant, the end of a context, counts it
// first; each type's comment has the timeline.
package inflight
