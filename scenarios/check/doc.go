// Package check says whether a cluster is as it should be: objects with at least some
// fields, counts, CEL expressions, conditions to wait for, and invariants over a whole
// run. What it looks at it follows by watches; nothing is polled. A check that does
// not hold tells what differs. With a ledger, an event counts as in flight until every
// check has seen it, so that virtual time never runs ahead of them.
package check
