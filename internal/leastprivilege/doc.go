// Package leastprivilege computes the smallest roles that cover a set of requests, and
// the permissions that given rules have beyond them. Its functions are pure.
//
//minikcm:pure
package leastprivilege
