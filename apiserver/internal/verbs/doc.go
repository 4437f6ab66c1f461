// Package verbs serves the verbs of the API on stored objects: it reads a parsed request's
// body and options, passes the object through defaulting, field management, admission,
// preparation and validation, and reads or writes it in the store or the watch cache.
// Each verb is a function of a Call; Backend is all that verbs need of a server. The
// handlers of rows (package resources) serve the requests that a single kind handles differently.
package verbs
