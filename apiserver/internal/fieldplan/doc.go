// Package fieldplan finds some fields in objects of a Go type without looking at the rest of them: fields
// that a release of Kubernetes does not have, and fields of features that are off.
//
//minikcm:pure
package fieldplan
