// Package celsize limits the strings that CEL expressions make. Kubernetes' cost limit counts
// what a function returns after it has returned: replace and join of two strings of 1 MB each can
// return a terabyte, which ends the process. Their results are computed only if they fit.
package celsize
