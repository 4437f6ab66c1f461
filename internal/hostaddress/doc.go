// Package hostaddress reads the annotation of Services that lead to a process outside of the
// cluster. Its functions ignore invalid annotations, except Parse, which says what is wrong.
//
//minikcm:pure
package hostaddress
