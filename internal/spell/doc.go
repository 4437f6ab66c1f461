// Package spell finds the known name that a misspelled name most likely means.
package spell
