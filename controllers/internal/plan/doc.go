// Package plan represents a controller's decision as a value: the writes, their order and events, and
// the time of the next decision. Making a plan has no side effects; controllers/internal/executor
// carries it out. The errors of an execution are here too, because some decisions depend on them.
//
//minikcm:pure
package plan
