// Package annotations has the table of the annotations that the simulation reads on pods, and finds what is wrong with a
// pod's own: values that cannot be read, and names that are misspelled.
//
//minikcm:pure
package annotations
