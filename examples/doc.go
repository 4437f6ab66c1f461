// Package examples has small programs to read and to type: one in each folder, described in
// README.md. Its tests run each of them on a cluster.
package examples
