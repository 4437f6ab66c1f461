// Package manager starts the controllers of one process. Its table of
// descriptors is the one place where a controller is registered: the command
// line, the docs and the tests derive from it. Run returns only when every
// controller, informer and event writer that it started has ended.
package manager
