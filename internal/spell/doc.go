// Package spell finds the known name that a misspelled name most likely means.
//
//minikcm:pure
package spell
