// Package manager starts the controllers of one process. Its table of
// descriptors is the one place where a controller is registered: the command
// line, the docs, health checks and the tests derive from it. A controller that
// fails is made and run again, and its neighbours do not notice. Run returns only
// when every controller, informer and event writer that it started has ended.
package manager

//go:generate go test -run ^TestDocs$ . -update
