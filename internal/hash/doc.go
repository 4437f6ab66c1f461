// Package hash has the two functions that keyed chance and the order of turns are made of. Both are
// fixed: the choices that follow from a seed must not change between builds.
//
//minikcm:pure
package hash
