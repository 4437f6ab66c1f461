// Package transport carries the requests of in-process clients to an http.Handler
// without a socket. A response that cannot be a stream is complete when RoundTrip
// returns. A stream (a watch, a followed log) goes through a pipe of bounded size; the
// ledger counts what the client has not read yet as an event in flight, so that virtual
// time stands still until the client has handled it.
package transport
