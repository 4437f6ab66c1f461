// Package celtext has CEL's functions on strings with limits, in place of cel-go's functions without
// limits: replace and join compute the size of their result first, and matches the steps that it may
// take. A call beyond the limits is an error of the expression. Hidden passes the input of an evaluation to functions.
//
//minikcm:pure
package celtext
