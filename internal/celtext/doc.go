// Package celtext has functions of CEL on strings with limits, in place of those of cel-go that have
// none: replace and join compute the size of their result first, and matches the steps that it may
// take. A call beyond the limits is an error of the expression.
//
//minikcm:pure
package celtext
