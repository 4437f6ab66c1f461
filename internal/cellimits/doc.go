// Package cellimits limits the cost of single functions of CEL expressions. Kubernetes' cost
// limit counts what a function returns after it has returned, and estimates a pattern by its
// text: replace and join of two strings of 1 MB each can return a terabyte, which ends the
// process, and a pattern of 30 bytes with nested repeats can take half a minute with one of
// them. Here the result or the steps are computed first, and the function is called only if
// they are within the limits; otherwise the expression has an error.
package cellimits
