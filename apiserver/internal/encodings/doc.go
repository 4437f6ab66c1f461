// Package encodings keeps the encoded items of lists, so that a list of objects that have not
// changed since an earlier list is joined from the parts that were encoded and compressed for the
// earlier one.
//
// It keeps runs: consecutive items of a list, about 32. A run ends after an object whose key has a
// certain hash, so that the runs beside it stay the same when an object is added or removed. A run
// is found by the identities of its entries in the watch cache: a list with other objects between
// them, or with other versions of them, has a different run.
//
// A run is kept when it is asked for a second time, and until others need its memory, which is
// limited. Objects that are not listed, or listed once, take no memory here.
package encodings
