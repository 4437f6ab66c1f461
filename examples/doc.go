// Package examples has small programs to read and to type: one in each folder, explained in
// docs/examples. Its tests run each of them on a cluster, and compare what it prints with its page.
package examples
