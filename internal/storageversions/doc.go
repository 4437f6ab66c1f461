// Package storageversions edits StorageVersions (KEP-2339): the entries of API servers, and the fields that are
// common to them. Its functions are pure.
//
//minikcm:pure
package storageversions
