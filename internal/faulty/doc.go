// Package faulty injects store faults: while one lasts, the store is slow, unreachable, out
// of space or without a leader. Time comes from a
// clock and chance from a seed, so that a run can be repeated. Acknowledged writes are
// in the underlying store, and without a fault it behaves like that store.
package faulty
