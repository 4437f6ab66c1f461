// Package decide decides which entries of StorageVersions belong to API servers that no longer exist.
//
//minikcm:pure
package decide
