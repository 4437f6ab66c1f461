// Package decide decides which secrets with tokens of service accounts are marked as invalid
// and which are deleted. A secret that the snapshot does not clearly show to be unused and
// automatically generated is left alone. Days are UTC days.
//
//minikcm:pure
package decide
