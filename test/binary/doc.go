// Package binary builds minikcm for tests that run it as a process.
package binary
