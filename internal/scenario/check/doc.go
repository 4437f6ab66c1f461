// Package check compares a cluster with its expected state: objects with at least some fields,
// counts, CEL expressions, conditions to wait for, and invariants over a whole run. It follows
// objects by watches, and polls nothing. A check that does not hold returns the differences. With a
// ledger, an event is in flight until every check has seen it, so that virtual time never runs
// ahead of the checks.
package check
