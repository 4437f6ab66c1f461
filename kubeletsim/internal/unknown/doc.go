// Package unknown is the vocabulary for the unknown parts of a container: the content of an image that
// nothing describes. Unknown is not absent; docs/decisions/0055-unknown-is-not-absent.md says what follows
// from it.
package unknown
