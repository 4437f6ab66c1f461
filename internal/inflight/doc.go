// Package inflight counts the work that is in flight in a cluster. Only this package can: the
// methods of the Ledger that count are not exported. Virtual time stands still while the
// ledger counts any work. If work takes turns, one piece of work runs at a time.
//
// The types that count are types that their users need anyway:
//
//   - Work is one piece of work, from Begin until End. It is not counted during Sleep and
//     while it waits for a Latch or a Group. Its context carries it (With).
//   - Queue distributes keys to workers, and Line anything else. Gate is one piece of work
//     that waits until it is raised.
//   - Alarms are keys that wait for a time.
//   - Flag and Tally count pending work, such as the entries of a buffer.
//
// One rule makes the count exact: code that hands work on counts the next piece of work before
// it ends its own. So a timer, a grant or the end of a context counts the work that it wakes
// first. The comment of each type has a timeline.
package inflight
