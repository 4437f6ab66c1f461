// Package drain drains nodes as kubectl drain does: with its filters, its messages, and its retries of
// evictions that a PodDisruptionBudget refuses. It has no clock: the caller says when.
package drain
