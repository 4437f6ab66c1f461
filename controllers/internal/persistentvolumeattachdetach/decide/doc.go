// Package decide decides to which nodes a volume is attached, from which it is detached, and which
// events say so. It does not change its arguments.
//
//minikcm:pure
package decide
