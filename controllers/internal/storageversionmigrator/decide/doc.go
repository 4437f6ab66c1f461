// Package decide determines the next step of a migration. It guarantees that a migration that has
// ended takes no step but the end of its condition Running, and that only the oldest migration of a
// resource begins, while none of them runs.
//
//minikcm:pure
package decide
