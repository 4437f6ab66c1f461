// Package determinism runs clusters in virtual time again and again, and compares all
// that was written in them: object, verb, writer, time, revision, cause and change.
package determinism
