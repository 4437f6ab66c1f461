// Package identity writes the objects that identify an API server to others: its Lease (KEP-1965), and the
// StorageVersions that say how it stores objects (KEP-2339).
package identity
