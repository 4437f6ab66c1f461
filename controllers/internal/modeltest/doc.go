// Package modeltest runs reconcilers over an in-memory world, one step at a time, in an
// order that the test draws: events reach each reconciler late and kind by kind, other
// writers act between any two of its writes, and it crashes between them and starts again.
// The world has the API's rules about versions, UIDs, generations, owner references and
// deletion, and nothing else, so a failure is a failure of the reconciler's logic. A test
// checks its invariants after every write, and at the end that the world has converged.
// MustBreak proves that the invariants detect a mistake, and CheckGrowth that cost grows no
// faster than size.
package modeltest
