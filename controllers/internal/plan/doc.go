// Package plan represents a controller's decision as a value: what to write, in which order,
// with which events, and when to decide again. Making a plan has no side effects;
// controllers/internal/executor carries it out. The errors of an execution are here too, because some
// decisions depend on them.
//
//minikcm:pure
package plan
