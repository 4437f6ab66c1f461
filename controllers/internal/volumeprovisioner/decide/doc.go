// Package decide decides for which claims the simulated provisioner creates volumes, what these
// volumes are, and which volumes it deletes. It does not change its arguments.
//
//minikcm:pure
package decide
