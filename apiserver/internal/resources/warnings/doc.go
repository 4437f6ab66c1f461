// Package warnings returns the texts of the Warning headers that upstream sends for an
// object: for fields that are deprecated or have no effect, and for likely mistakes. Each
// kind with warnings has one function, named for it. The functions are pure; their texts
// are the API's.
//
//minikcm:pure
package warnings
