// Package leastprivilege computes the smallest roles that cover a set of requests, and
// what given rules allow beyond them. Its functions are pure.
//
//minikcm:pure
package leastprivilege
