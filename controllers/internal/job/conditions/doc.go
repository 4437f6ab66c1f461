// Package conditions reads and sets the conditions of Jobs. Other controllers use it to learn
// whether a Job has finished. It depends on its arguments alone; Set is the only function that
// changes one of them.
//
//minikcm:pure
package conditions
