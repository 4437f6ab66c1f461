// Package determinism runs clusters in virtual time repeatedly and compares all their writes:
// object, verb, writer, time, revision, cause and change.
package determinism
