// Package decide decides which entries of StorageVersions are those of API servers that no longer exist.
//
//minikcm:pure
package decide
