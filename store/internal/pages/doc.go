// Package pages reads the file of a bbolt database without trusting it. bbolt itself asserts
// what its pages contain, and panics, also in goroutines of its own, or faults in mapped
// memory if a page is damaged; this package returns such damage, page by page, and reads the rest.
// It supports only the structures that etcd writes: buckets of keys, without nested buckets.
package pages
