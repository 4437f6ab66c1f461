// Package decide determines the next step of a migration. It guarantees that a migration that has
// ended takes no step but the end of its condition Running, and that of the migrations of one
// resource only the oldest one begins, while none runs.
//
//minikcm:pure
package decide
