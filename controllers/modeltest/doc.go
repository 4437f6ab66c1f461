// Package modeltest runs reconcilers over an in-memory world, one step at a time,
// in an order that the test draws: events reach each reconciler late and kind by
// kind, other writers come between any two of its writes, and it crashes between
// them and starts again. The world has the API's rules about versions, UIDs,
// generations, owner references and deletion, and nothing else: what fails here
// fails by the reconciler's own logic. A test checks its invariants after every
// write and asks at the end whether all has converged. MustBreak proves that they see a
// mistake, and CheckGrowth that work costs no more than in proportion to its size.
package modeltest
