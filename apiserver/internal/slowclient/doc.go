// Package slowclient protects the server against clients that stop reading or sending.
// A write of a response, or a read of a request's body, that makes no progress for the
// connection's stall limit (WithStall) fails, and the connection is closed, so that the
// client neither holds memory nor occupies a slot of the requests in flight. A stream
// whose context has ended gets one second to deliver its rest. All durations are real
// time, as for everything on sockets.
package slowclient
