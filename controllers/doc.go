// Package controllers runs the controllers of one process. Its table of descriptors is the one
// place where a controller is registered: the command line, the docs, the health checks and
// the tests derive from it. The manager rebuilds and restarts a controller that fails,
// without effect on the others. Run returns only when every controller, informer and event
// writer that it started has ended.
package controllers

//go:generate go test -run ^TestDocs$ . -update
