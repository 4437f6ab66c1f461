// Package servers reads descriptions of servers: on which ports a container listens, and what it answers to requests. The annotation
// minikcm.dev/server and the key server of image profiles have such a description as YAML, whose texts may have expressions of CEL
// in ${}. The package chooses routes and computes values; package containers sends answers, waits, calls other servers and runs
// commands.
//
// A description is parsed and compiled once, however many containers have it. Each has a budget: of bytes, nesting, routes and
// expressions when it is read, and of CEL's cost and bytes when a request is answered.
//
//minikcm:pure
package servers
