// Package hunt finds the bugs of an operator that its suite misses. Run runs a workload once undisturbed, and learns which writes
// the operator makes and what it watches. Then it repeats the run with disturbances at each of these writes: the operator crashes
// before or after it, the write conflicts, fails, or happens although the answer is lost, and events come late, collapsed, or as of
// an older revision after a restart. A run that ends in another state than the undisturbed one, that never comes to rest, or that
// violates a condition of the test is a finding. It is reported with the fewest disturbances and steps that lead to it, a timeline,
// and the line of Go that repeats it.
//
// Each run has a cluster of its own on virtual time, in which the seed determines the order of all work: one list of disturbances
// gives one course. docs/hunt.md describes the disturbances and the classes of findings.
package hunt
