// Package decide decides for which claims the simulated provisioner creates volumes, the content of
// these volumes, and which volumes it deletes. It does not change its arguments.
//
//minikcm:pure
package decide
