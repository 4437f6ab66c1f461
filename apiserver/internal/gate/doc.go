// Package gate counts the requests that are being served, so that their server can be closed
// when the last one has left.
package gate
