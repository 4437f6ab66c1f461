// Package regexcost estimates the cost of matching a regular expression, before it is
// compiled: Go's matcher takes a step for each instruction of the compiled program and
// each byte of the input, and repeats such as ((x{0,10}){0,10}){0,10} make a long
// program of a short text.
package regexcost
