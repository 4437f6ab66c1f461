// Package auth says who makes a request and whether they may: client
// certificates of the cluster's own CA, identities given to in-process clients,
// and the answer to those who show neither.
package auth
