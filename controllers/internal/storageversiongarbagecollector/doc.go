// Package storageversiongarbagecollector is the storageversion-garbage-collector-controller: it removes the entries of
// API servers that have no identity Lease (KEP-1965) from StorageVersions (KEP-2339), and StorageVersions that have lost
// their last entry. An entry whose server has a Lease is never removed: a Lease that the cache lacks is looked up, and
// an entry that a server writes meanwhile makes the write of the controller fail.
package storageversiongarbagecollector
